"""The selection of tests for the lowest versions of dependencies looks through modules of the tests."""

from pathlib import Path

from tests.lowest import ROOT, imported, modules


def test_a_module_that_imports_the_trainer_by_way_of_another_is_left_out():
    chosen = modules()
    assert {"tests/test_toolbox.py", "tests/clients/test_chat.py"} <= set(chosen)
    assert "agents" in {name.partition(".")[0] for name in imported(ROOT / "tests/backends/test_needed.py")}
    assert "tests/backends/test_needed.py" not in chosen
    assert not any(Path(name).parent.name == "integrations" for name in chosen)
