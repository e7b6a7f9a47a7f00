"""Modules that files import, and the packages that contain them."""

import sys

import pytest

from tests.errors import expect_error
from webarena_gym.applications.requirements import imported_modules, list_packages
from webarena_gym.errors import ApplicationError


def modules(tmp_path, text, name="shop/views/cart.py"):
    path = tmp_path / "file.py"
    path.write_text(text)
    return imported_modules({name: path})[name]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("import a.b, c as d", {"a.b", "c"}), ("from a.b import c, d", {"a.b", "a.b.c", "a.b.d"}),
        ("from . import x", {"shop.views", "shop.views.x"}), ("from ..models import Item", {"shop.models", "shop.models.Item"}),
        ("from .. import x", {"shop", "shop.x"}), ("APPS = ['shop.urls', 'not a module', '']", {"shop.urls"}),
        ("def f():\n    import late", {"late"}),
    ],
)  # fmt: skip
def test_imports_and_dotted_names_in_texts_are_found(tmp_path, text, names):
    assert modules(tmp_path, text) == names


def test_other_files_and_those_with_syntax_errors_have_no_modules(tmp_path):
    broken, page = tmp_path / "broken.py", tmp_path / "page.html"
    broken.write_text("def (")
    page.write_text("import a")
    assert imported_modules({"broken.py": broken, "page.html": page}) == {}


def test_packages_of_modules_are_listed_with_what_they_require():
    version, text = list_packages(sys.executable, ["werkzeug", "no_such_module"])
    assert version == ".".join(map(str, sys.version_info[:3]))
    names = [line.partition("==")[0].lower() for line in text.split()]
    assert names == sorted(names)
    assert set(names) == {"werkzeug", "markupsafe"}
    everything = list_packages(sys.executable, [])[1].lower()
    assert "werkzeug==" in everything
    assert "\npip==" not in everything


def test_an_interpreter_that_cannot_be_run_is_named(tmp_path):
    with expect_error(ApplicationError, tmp_path / "python"):
        list_packages(str(tmp_path / "python"), [])
