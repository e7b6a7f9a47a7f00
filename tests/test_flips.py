"""Operators are flipped where they stand, tests are found by a module's path and name, and modules without a test of their name are listed."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.flips import PACKAGES, ROOT, draw, files_of, files_of_name, flips, room_of, run_tests, try_flip

LISTED = ROOT / "tests" / "data" / "tested_elsewhere.txt"
"""Modules without a test file of their name, each with the reason. A new module has a test of its own."""


def modules():
    files = (path.relative_to(ROOT) for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py")))
    return [path for path in files if len((ROOT / path).read_text(encoding="utf-8").splitlines()) > 12]


@pytest.mark.parametrize(
    ("text", "flipped"),
    [
        ("a <= b < c", ["a < b < c", "a <= b <= c"]),
        ("x = a is not b", ["x = a is b"]),
        ("x = a not  in b or c", ["x = a in b or c", "x = a not  in b and c"]),
        ("x = (a  # and\n and b)", ["x = (a  # and\n or b)"]),
        ("x = not (a)", ["x = (a)"]),
        ("x = é + a // b - 'c'", ["x = é - a // b - 'c'", "x = é + a * b - 'c'"]),
        ("x = f'{a < b}' + [a]", []),
        ("if __name__ == '__main__': pass", []),
        ("x = a ** b * c", ["x = a ** b / c"]),
    ],
)
def test_operators_are_flipped_in_place(text, flipped):
    assert [flip.apply(text) for flip in flips(Path("m.py"), text)] == flipped


@pytest.mark.parametrize(
    ("module", "tests"),
    [
        ("webarena_gym/answers/judge.py", ["answers/test_judge.py"]),
        ("webarena_gym/tools/application_check.py", ["test_application_check.py"]),
        ("webarena_gym/applications/trust.py", ["applications/test_trust.py"]),
        ("agents/grpo.py", ["test_grpo.py"]),
        ("webarena_gym/toolbox/__init__.py", ["test_toolbox.py"]),
    ],
)
def test_tests_are_found_by_name(module, tests):
    assert [str(path.relative_to("tests")) for path in files_of_name(Path(module))] == tests


def test_tests_of_a_module_include_those_that_import_it_and_those_of_its_room():
    found = [path.name for path in files_of(Path("webarena_gym/toolbox/lookup.py"))]
    assert found[0] == "test_lookup.py"
    assert "test_toolbox.py" in found


def test_modules_have_a_test_of_their_name_or_are_listed():
    without = [str(path) for path in modules() if not files_of_name(path)]
    listed = dict(line.split(": ", 1) for line in LISTED.read_text(encoding="utf-8").splitlines())
    assert without == list(listed), "remove what has a test now, and test new modules"
    assert all(listed.values())


@pytest.fixture
def project(tmp_path):
    """Write a project of one module with two functions, of which its test covers one."""
    for folder in ("tests", "agents"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "__init__.py").touch()
    (tmp_path / "agents/sums.py").write_text("def add(a, b):\n    return a + b\n\n\ndef is_less(a, b):\n    return a < b\n")
    (tmp_path / "tests/test_sums.py").write_text(
        "from agents.sums import add\n\n\ndef test_sum():\n    assert add(1, 2) == 3\n"
    )
    (tmp_path / "pytest.ini").touch()
    return tmp_path


def test_a_flip_is_noticed_by_the_test_of_what_it_changes(project):
    sums = Path("agents/sums.py")
    text = (project / sums).read_text()
    noticed, survived = flips(sums, text)
    assert try_flip(project, noticed, 60) == ("noticed", "tests/test_sums.py::test_sum")
    assert try_flip(project, survived, 60) == ("survived", "1 test files")
    assert (project / sums).read_text() == text


def test_a_flip_is_noticed_by_a_test_whose_printed_name_is_cut_off(project):
    (project / "tests/test_sums.py").write_text(
        "import pytest\nfrom agents.sums import add\n\n\n@pytest.mark.parametrize('text', ['a (b)'])\ndef test_sum(text):\n    assert add(1, 2) == 3\n"
    )
    sums = Path("agents/sums.py")
    noticed, _ = flips(sums, (project / sums).read_text())
    assert try_flip(project, noticed, 60)[0] == "noticed"


def test_rooms_take_turns_and_a_seed_repeats_its_draw(project):
    for name in ("sums", "more", "others"):
        (project / f"agents/{name}.py").write_text("".join(f"def f{number}(a, b):\n    return a < b\n" for number in range(4)))
    drawn = [list(draw(project, seed)) for seed in (3, 3, 4)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert len({*drawn[0]}) == 12
    assert all(len({room_of(flip.path) for flip in drawn[0][first : first + 3]}) == 3 for first in range(0, 12, 3))


def test_a_run_beyond_its_time_is_stopped(project):
    (project / "tests/test_sums.py").write_text("def test_endless():\n    while True:\n        pass\n")
    assert run_tests(project, "tests/test_sums.py", 1).status is None


def test_a_project_that_makes_warnings_errors_is_tested_after_a_plugin_was_imported(project):
    (project / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n")
    program = f"import hypothesis\nfrom pathlib import Path\nfrom tests.flips import run_tests\nprint(run_tests(Path({str(project)!r}), 'tests/test_sums.py', 60).status)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout == "0\n"
