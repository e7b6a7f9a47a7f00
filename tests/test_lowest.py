"""The selection of tests for the lowest versions of dependencies looks through modules of the tests."""

from pathlib import Path

from tests import lowest
from tests.lowest import modules


def test_a_module_that_imports_the_trainer_by_way_of_another_is_left_out(tmp_path, monkeypatch):
    chosen = modules()
    assert {"tests/test_toolbox.py", "tests/clients/test_chat.py"} <= set(chosen)
    assert not any(Path(name).parent.name == "integrations" for name in chosen)
    (tmp_path / "tests").mkdir()
    for name, line in (
        ("trained", "from agents import grpo"),
        ("test_by_way", "import tests.trained"),
        ("test_alone", "import tests.other"),
    ):
        (tmp_path / "tests" / f"{name}.py").write_text(f"{line}\n")
    monkeypatch.setattr(lowest, "ROOT", tmp_path)
    assert modules() == ["tests/test_alone.py"]
