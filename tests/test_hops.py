"""The length of two ways through the code, which only ever becomes shorter: of a submitted form, and of an update of M-GRPO."""

import sys
from contextlib import ExitStack, contextmanager
from pathlib import Path

import torch

import webarena_gym
from agents.grpo import train
from agents.models.checkpoints import save_agent
from agents.models.pointer.network import PointerNetwork, Vocabulary
from agents.rollouts.pointer import PointerPolicy
from agents.train_rl import make_settings
from agents.training.metrics import Metrics
from webarena_gym.env import WebArenaLite
from webarena_gym.tasks import Task

ROOT = Path(webarena_gym.__file__).parents[1]
FUNCTIONS, FILES, HOPS = 92, 20, 5
"""Of one submitted search form, without the sites and the facts of HTML: its functions, their files, and the calls down to the browser."""
UPDATE = {"agents": (153, 19), "webarena_gym": (224, 32)}
"""Functions and files of one update of M-GRPO: its rollouts, their credit, what is learned from them, and the metrics."""


@contextmanager
def traced():
    """Collect the functions that are called, as their file, name and line, and the ways from `env.step` to the browser's `type`."""
    called, ways = set(), []

    def note(frame, event, _):
        code = frame.f_code
        if event != "call" or code.co_name.startswith("<") or not code.co_filename.startswith(str(ROOT)):
            return
        path = Path(code.co_filename).relative_to(ROOT)
        if path.parts[0] in UPDATE and path.parts[1] not in ("sites", "pages", "templates"):
            called.add((path, code.co_qualname, code.co_firstlineno))
        if path.name == "inprocess.py" and code.co_name == "type":
            depth = 0
            while frame.f_code.co_name != "step":
                depth, frame = depth + 1, frame.f_back
            ways.append(depth)

    sys.setprofile(note)
    try:
        yield called, ways
    finally:
        sys.setprofile(None)


def test_a_search_form_runs_through_few_functions_in_few_files():
    env = WebArenaLite(split="test")
    task = next(task for task in env.tasks if task.start_url == "__SHOPPING__")

    def reset():
        env.reset(options={"task": task.task_id})
        found = (number for number, node in env.observation.nodes.items() if node.element.get("name") == "q")
        return f'do(action="Search", argument="lamp", element="{next(found)}")'

    env.step(reset())  # so that caches are warm
    reply = reset()
    with traced() as (called, ways):
        *_, info = env.step(reply)
    env.close()
    assert "q=lamp" in info["url"]
    assert ways
    assert max(ways) <= HOPS
    assert len(called) <= FUNCTIONS, sorted(map(str, called))
    assert len({path for path, *_ in called}) <= FILES


def test_an_update_of_grpo_runs_through_few_functions_in_few_files(tmp_path, monkeypatch):
    torch.manual_seed(0)
    vocabulary = Vocabulary(("<name>", "<number>"))
    save_agent(tmp_path / "model", PointerNetwork(len(vocabulary), width=8, hidden=8), vocabulary, {"elements": "id"})
    check = {"eval_types": ["url_match"], "reference_url": "__SHOPPING__", "url_note": "EXACT"}
    tasks = [Task("stay", ("shopping",), "__SHOPPING__", "Stay at the shop.", check, world_seed=1000)]
    sizes = {"tasks_per_update": 2, "minibatches": 1, "updates": 2, "max_steps": 2, "threads": 1}
    load, log, trained, found = PointerPolicy.load, Metrics.log, [], {}
    with ExitStack() as second:  # the first update warms caches

        def begin(self, network, version):
            if version == 1:
                found["called"], _ = second.enter_context(traced())
            load(self, network, version)

        def end(self, update, values):
            log(self, update, values)
            trained.append(values["trained_steps"])
            if update == 2:
                second.close()

        monkeypatch.setattr(PointerPolicy, "load", begin)
        monkeypatch.setattr(Metrics, "log", end)
        train(make_settings("grpo", model=str(tmp_path / "model"), out=tmp_path / "run", **sizes), tasks)
    assert trained[1], "nothing was learned"
    for room, most in UPDATE.items():
        own = sorted((str(path), function) for path, function, _ in found["called"] if path.parts[0] == room)
        assert len(own) <= most[0], (len(own), own)
        assert len({path for path, _ in own}) <= most[1], own
