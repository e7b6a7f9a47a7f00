"""Tables in `tests/data/` of what Chromium itself does, with one case a line, and their comparison with the installed Chromium."""

import json
import random
from pathlib import Path

import pytest

from tests import needs

HOME = "http://app.test/"


def page_of(body, charset="utf-8"):
    if body.startswith("<!doctype"):
        return body
    return f"<!doctype html><html><head><meta charset={charset}><title>T</title></head><body>{body}</body></html>"


def _path(name):
    return Path(__file__).parent / "data" / f"{name}.json"


def read_table(name):
    return json.loads(_path(name).read_text(encoding="utf-8"))


def write_table(name, table):
    """Write a table of the version of Chromium and of sections of cases."""

    def line(value):
        return json.dumps(value, ensure_ascii=False)

    sections = []
    for section, cases in table.items():
        if isinstance(cases, dict):
            lines = ",\n".join(f"{line(key)}: {line(value)}" for key, value in cases.items())
            sections.append(f"{line(section)}: {{\n{lines}\n}}")
        else:
            sections.append(f"{line(section)}: {line(cases)}")
    _path(name).write_text("{\n" + ",\n".join(sections) + "\n}\n", encoding="utf-8")


def record_again(name, raw_browser, record):
    """Replace the results in a table by those of the installed Chromium; `record` returns the table as a `raw_browser` plays it."""
    with needs.opened_chromium() as chromium:
        write_table(name, record(read_table(name), raw_browser(chromium)))


def check_installed(table, section, count, raw_browser, record):
    """Compare some cases of a section with the installed Chromium. Skips the test if the table is of another version."""
    with needs.opened_chromium() as chromium:
        raw = raw_browser(chromium)
        if raw.version.partition(".")[0] != table["chromium"].partition(".")[0]:
            again = f"python -m {raw_browser.__module__}"
            pytest.skip(f"the table is of Chromium {table['chromium']}, this is {raw.version}: {again}")
        names = random.Random(7).sample(sorted(table[section]), count)
        some = {**table, section: {name: table[section][name] for name in names}}
        assert record(some, raw) == {**some, "chromium": raw.version}
