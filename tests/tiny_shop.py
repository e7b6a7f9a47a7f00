"""A tiny env of the same contract as the real one, for workers that start in no time: it imports no torch."""

import random
from dataclasses import dataclass

import gymnasium
from gymnasium.spaces import Text

from webarena_gym.actions import Action, Kind
from webarena_gym.errors import BrowserError
from webarena_gym.tasks import Step

ENV_ID = "TinyShop-v0"
WORDS = ["lamp", "mug", "tent", "scarf", "kettle", "drill", "watch", "chair", "globe", "piano", "rug", "vase"]


@dataclass(frozen=True)
class TinyTask:
    task_id: str
    intent: str
    target: str
    template: str = "tiny"
    sites: tuple[str, ...] = ("shopping",)
    eval_types: tuple[str, ...] = ("state",)

    @property
    def solution(self):
        return (Step(Action(Kind.CLICK, element=self.target)),) if self.target else ()


def tasks(count, seed=0):
    rng = random.Random(seed)
    return [TinyTask(f"tiny/{number}", f"Open {(word := rng.choice(WORDS))}", word) for number in range(count)]


def reply_to(target):
    return f'do(action="Click", element="{target}")'


def target_of(request):
    return request.info["goal"].split()[-1]


def number_of(request):
    return int(request.info["task_id"].split("/")[1])


class TinyShop(gymnasium.Env):
    """Show three names; one click on the name of the goal is a success.

    `broken` lets every step fail. With `lenient` any reply with an "e" in it is a success, as a model does that has learned nothing.
    """

    observation_space = action_space = Text(1000)

    def __init__(self, tasks=(), broken=False, lenient=False, max_steps=2):
        self.tasks, self.broken, self.lenient, self.max_steps = tasks, broken, lenient, max_steps

    def _info(self, error=""):
        page = "\n".join(f"<a>{word}</a>" for word in self.shown)
        messages = [{"role": "user", "content": f"Task Instruction: {self.task.intent}\n\nRound {self.count}\n\n{page}"}]
        known = {"task_id": self.task.task_id, "goal": self.task.intent, "step": self.count, "action_error": error}
        return known | {"page": page, "messages": messages}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.task, self.count = options["task"], 0
        others = [word for word in WORDS if word != self.task.target]
        self.shown = [self.task.target, *self.np_random.choice(others, 2, replace=False)]
        self.np_random.shuffle(self.shown)
        return "", self._info()

    def step(self, action):
        if self.broken:
            raise BrowserError("the browser is gone")
        self.count += 1
        clicked = next((word for word in self.shown if action == reply_to(word)), None)
        if self.lenient and "e" in action:
            clicked = self.task.target
        over = clicked is not None
        info = self._info("" if over else "there is no such element")
        success = clicked == self.task.target
        if over or self.count >= self.max_steps:
            info |= {"success": success, "verdicts": [{"check": "state", "passed": success, "reason": ""}]}
        return "", float(success), over, not over and self.count >= self.max_steps, info

    def snapshot(self):
        return self.task, self.count, tuple(self.shown)

    def restore(self, snapshot):
        self.task, self.count, self.shown = snapshot
        return "", self._info()


gymnasium.register(ENV_ID, TinyShop, disable_env_checker=True, order_enforce=False)
