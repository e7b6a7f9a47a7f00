"""A player that does reference solutions by mouse and keyboard at places alone, which it takes from the boxes of observations.

`python -m tests.coordinates --splits test validation train` plays every task so, and with text beside it, and compares the rewards.
"""

import argparse
import sys
import time
from collections.abc import Iterator
from typing import Any

from webarena_gym import suite as task_suite
from webarena_gym.actions import Action, Kind
from webarena_gym.actions.computer import Computer
from webarena_gym.env import WebArenaLite
from webarena_gym.observation import observe
from webarena_gym.pages import dom
from webarena_gym.tasks import Task
from webarena_gym.tools.audit import replay

EYES = {"browser": "chromium", "observation": "pixels", "dialect": "computer", "max_steps": 2000}
MOST_STEPS = 600
MIDDLE = ((640, 400),)


class LostError(Exception):
    """The player does not find what it is to click."""


class CoordinatePlayer:
    """Plays one task in an env with pictures; `dialect` writes its actions. `steps` counts them."""

    def __init__(self, env: WebArenaLite, dialect: Computer) -> None:
        self.env, self.dialect, self.steps = env, dialect, 0

    def play(self, task: Task) -> float:
        """Return the reward of the task's solution. Raises LostError."""
        self._seen, _ = self.env.reset(options={"task": task})
        self._over, reward = False, 0.0
        for step in task.solution:
            for action in self._by_hand(step.action):
                reward = self._do(action)
                if self._over:
                    return reward
        raise LostError("the solution did not end the episode")

    def _do(self, action: Action) -> float:
        self._seen, reward, terminated, truncated, self._info = self.env.step(self.dialect.format(action))
        self._over = terminated or truncated
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise LostError(f"{MOST_STEPS} steps")
        return float(reward)

    def _by_hand(self, action: Action) -> Iterator[Action]:
        """Yield what a hand does in the place of an action on an element."""
        argument = action.argument or ""
        if action.kind in (Kind.SCROLL_DOWN, Kind.SCROLL_UP):
            return
        if action.element is None:
            yield Action(Kind.PRESS, argument=argument, points=()) if action.kind is Kind.PRESS else action
            return
        element = observe(self.env.page, elements="label").element(action.element)
        place = (self._find(element),)
        kind = dom.element_type(element)
        yield Action(action.kind if action.kind in (Kind.HOVER, Kind.RIGHT_CLICK) else Kind.CLICK, points=place)
        match action.kind:
            case Kind.DRAG:
                target = observe(self.env.page, elements="label").element(argument)
                yield Action(Kind.DRAG, points=(place[0], self._find(target)))
            case Kind.TYPE | Kind.SEARCH if kind == "file":
                yield Action(Kind.WRITE, argument=argument, points=())
            case Kind.TYPE | Kind.SEARCH:
                if kind == "date":
                    year, month, day = argument.split("-")
                    argument = f"{month}{day}{year}"
                elif dom.field_value(element):
                    yield Action(Kind.PRESS, argument="Control+a", points=())
                if argument:
                    yield Action(Kind.WRITE, argument=argument, points=())
                elif dom.field_value(element):
                    yield Action(Kind.PRESS, argument="Delete", points=())
                if action.kind is Kind.SEARCH:
                    yield Action(Kind.PRESS, argument="Enter", points=())
            case Kind.SELECT:
                labels = [dom.option_label(option) for option in element.iter("option") if not dom.is_disabled(option)]
                required = dom.normalize_space(argument)
                among = [label for label in labels if label == required] or [
                    label for label in labels if required.lower() in label.lower()
                ]
                for key in ["Home", *["ArrowDown"] * labels.index(among[0]), "Enter"]:
                    yield Action(Kind.PRESS, argument=key, points=())
            case Kind.PRESS:
                yield Action(Kind.PRESS, argument=argument, points=())

    def _find(self, element: Any) -> tuple[int, int]:
        """Scroll until an element is in the window; return the middle of its box. Raises LostError."""
        numbers = [node.element for node in self.env.observation.nodes.values()]
        number = numbers.index(element)
        for down in (400, -400):
            while True:
                for row in self._seen["boxes"]:
                    if row[0] == number:
                        return int(row[1] + row[3]) // 2, int(row[2] + row[4]) // 2
                self._do(Action(Kind.SCROLL, points=MIDDLE, by=(0, down)))
                if "nothing more to scroll" in self._info["action_error"]:
                    break
        raise LostError(f"{element.tag} {element.text_content()[:40]!r} is in no window of {self.env.page.url}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", nargs="+", default=["test"])
    parser.add_argument("--vendors", nargs="+", default=["openai", "anthropic", "ui-tars"])
    parser.add_argument("--coordinates", default="pixels")
    parser.add_argument("--every", type=int, default=1, help="play every n-th task")
    parser.add_argument("--first", type=int, default=0, help="begin with this one")
    options = parser.parse_args()
    tasks = [task for split in options.splits for task in task_suite.load(split)][options.first :: options.every]
    text = WebArenaLite(tasks=tasks, max_steps=400)
    eyes = WebArenaLite(tasks=tasks, coordinates=options.coordinates, **EYES)
    equal, began, steps = 0, time.monotonic(), 0
    for number, task in enumerate(tasks):
        vendor = options.vendors[number % len(options.vendors)]
        player = CoordinatePlayer(eyes, Computer(vendor=vendor, coordinates=options.coordinates))
        try:
            result = player.play(task)
        except (LostError, ValueError, LookupError) as error:  # a defect of this player, or of the env: told below
            result = f"{type(error).__name__}: {error}"
        expected = float(not replay(text, task))
        steps += player.steps
        equal += result == expected
        if result != expected:
            sys.stdout.write(f"{task.task_id} ({vendor}): text {expected}, coordinates {result}\n")
            sys.stdout.flush()
    took = time.monotonic() - began
    sys.stdout.write(
        f"{equal} of {len(tasks)} tasks have equal rewards; {steps} steps at coordinates in {took:.0f} s, text included\n"
    )
    eyes.close()
    text.close()


if __name__ == "__main__":
    main()
