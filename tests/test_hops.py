"""The length of the way from `env.step` to the browser and back, which only ever becomes shorter."""

import sys
from pathlib import Path

import webarena_gym
from webarena_gym.env import WebArenaLite

ROOT = Path(webarena_gym.__file__).parent
FUNCTIONS, FILES, HOPS = 83, 15, 5
"""Of one submitted search form, without the sites and the facts of HTML: its functions, their files, and the calls down to the browser."""


def test_a_search_form_runs_through_few_functions_in_few_files():
    env = WebArenaLite(split="test")
    task = next(task for task in env.tasks if task.start_url == "__SHOPPING__")

    def reset():
        env.reset(options={"task": task.task_id})
        found = (number for number, node in env.observation.nodes.items() if node.element.get("name") == "q")
        return f'do(action="Search", argument="lamp", element="{next(found)}")'

    env.step(reset())  # so that caches are warm
    reply, called, ways = reset(), set(), []

    def note(frame, event, _):
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(str(ROOT)) and not code.co_name.startswith("<"):
            path = Path(code.co_filename).relative_to(ROOT)
            if path.parts[0] not in ("sites", "pages"):
                called.add((path, code.co_name, code.co_firstlineno))
            if path.name == "inprocess.py" and code.co_name == "type":
                depth = 0
                while frame.f_code.co_name != "step":
                    depth, frame = depth + 1, frame.f_back
                ways.append(depth)

    sys.setprofile(note)
    try:
        *_, info = env.step(reply)
    finally:
        sys.setprofile(None)
    env.close()
    assert "q=lamp" in info["url"]
    assert ways
    assert max(ways) <= HOPS
    assert len(called) <= FUNCTIONS, sorted(map(str, called))
    assert len({path for path, *_ in called}) <= FILES
