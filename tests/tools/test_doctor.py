"""`webarena-gym doctor`: what it checks, and what it advises."""

import json
from importlib.util import find_spec

import pytest
from werkzeug.wrappers import Request, Response

from tests import needs
from tests.portal import ANN, LOGIN, portal
from tests.serving import serving
from webarena_gym.addresses import (
    Account,
)
from webarena_gym.browsers.chromium.driver import SHARED
from webarena_gym.errors import BrowserError
from webarena_gym.sites.catalogue import SITES
from webarena_gym.tools import doctor
from webarena_gym.tools.cli import main
from webarena_gym.tools.doctor import examine


class TestDoctor:
    @needs.chromium
    def test_all_is_well(self, tmp_path):
        with serving(portal) as address:
            servers = {"map": address, "reddit": address}
            found = list(examine(servers, accounts={"reddit": ANN}, logins={"reddit": LOGIN}, folder=tmp_path))
        assert [finding.what for finding in found if finding.is_well] == [
            "cache",
            "in-process browser",
            "Chromium",
            "map",
            "reddit",
            "reddit login",
        ]

    @needs.chromium
    def test_faults_are_reported_with_a_remedy(self, tmp_path):
        @Request.application
        def failing(request):
            return Response("no", status=502)

        with serving(portal) as gone:
            pass
        (tmp_path / "file").write_text("")
        with serving(portal) as address, serving(failing) as other:
            addresses = {"map": gone, "reddit": address, "gitlab": other, "wikipedia": f"{address}/in"}
            wrong = {"reddit": Account("bo", "pw")}
            found = list(examine(addresses, accounts=wrong, logins={"reddit": LOGIN}, folder=tmp_path / "file"))
        ill = {finding.what: finding for finding in found if not finding.is_well}
        assert list(ill) == ["cache", "map", "reddit login", "gitlab"]
        assert "WEBARENA_GYM_CACHE" in ill["cache"].advice
        assert "did not answer" in ill["map"].result
        assert "could not sign in" in ill["reddit login"].result
        assert "WEBARENA_GYM_REDDIT_USER" in ill["reddit login"].advice
        assert "502" in ill["gitlab"].result

    @pytest.mark.usefixtures("no_kept_chromium")
    def test_no_chromium(self, tmp_path, monkeypatch):
        monkeypatch.setenv("WEBARENA_GYM_CHROMIUM", str(tmp_path / "none"))
        for chosen, servers, is_optional in (
            (None, {}, True),
            ("chromium", {}, False),
            (None, {"map": "http://127.0.0.1:1"}, False),
        ):
            cache, inprocess, browser, *_ = examine(servers, browser=chosen, folder=tmp_path)
            assert cache.is_well
            assert inprocess.is_well
            assert (browser.is_well, browser.is_optional) == (False, is_optional)
            assert browser.advice
            assert not SHARED._drivers, "the browser is closed"

    @pytest.mark.usefixtures("no_kept_chromium")
    @pytest.mark.parametrize(("hidden", "advice"), [
        ({"playwright"}, "pip install 'webarena-gym[chromium]'"), ({"h11", "PIL"}, "pip install 'webarena-gym[chromium]'"),
        (set(), "playwright install chromium"),
    ])  # fmt: skip
    def test_an_installation_without_chromium_is_well(self, tmp_path, monkeypatch, capsys, hidden, advice):
        for site in SITES:
            monkeypatch.delenv(site.upper(), raising=False)
            monkeypatch.delenv(f"WA_{site.upper()}", raising=False)
        monkeypatch.setenv("WEBARENA_GYM_CACHE", str(tmp_path))
        if hidden:
            monkeypatch.setattr(doctor, "find_spec", lambda name: None if name in hidden else find_spec(name))
        else:

            def start(*_, **__):
                raise BrowserError("no Chromium was found; install one with `playwright install chromium`")

            monkeypatch.setattr("webarena_gym.browsers.chromium.browser.ChromiumBrowser", start)
        for arguments, status in ((["doctor"], 0), (["doctor", "--browser", "chromium"], 1)):
            assert main(arguments) == status
            output = capsys.readouterr().out
            assert ("FAIL" in output) == bool(status)
            assert f"\n      {'':<20} {advice}" in output

    def test_the_command(self, tmp_path, monkeypatch, capsys):
        for site in SITES:
            monkeypatch.delenv(site.upper(), raising=False)
            monkeypatch.delenv(f"WA_{site.upper()}", raising=False)
        monkeypatch.setenv("WEBARENA_GYM_CACHE", str(tmp_path))
        assert main(["doctor", "--browser", "inprocess"]) == 0
        assert "ok    cache" in capsys.readouterr().out
        with serving(portal) as gone:
            pass
        assert main(["doctor", "--browser", "inprocess", "--json", "--sites", json.dumps({"map": gone})]) == 1
        result = json.loads(capsys.readouterr().out)
        assert not result["is_well"]
        assert [finding["what"] for finding in result["findings"]] == ["cache", "in-process browser", "map"]
        for text in ("[", "[]", '{"My Shop": "http://a.test"}'):
            assert main(["doctor", "--browser", "chromium", "--sites", text]) == 2
            assert "--sites" in capsys.readouterr().err
