"""A tiny env of the same contract, and a tiny model, so that training can be tested in seconds."""

import random
from dataclasses import dataclass

import gymnasium
import torch
from gymnasium.spaces import Text

from agents import small
from agents.demonstrations import Demonstration
from webarena_gym.errors import BrowserError

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


def tasks(count, seed=0):
    rng = random.Random(seed)
    return [TinyTask(f"tiny/{number}", f"Open {(word := rng.choice(WORDS))}", word) for number in range(count)]


def reply_to(target):
    return f'do(action="Click", element="{target}")'


class TinyShop(gymnasium.Env):
    """Show three names; one click on the name of the goal is a success. `broken` lets every step fail."""

    observation_space = action_space = Text(1000)

    def __init__(self, tasks=(), broken=False, max_steps=2):
        self.tasks, self.broken, self.max_steps = tasks, broken, max_steps

    def _info(self, error=""):
        page = "\n".join(f"<a>{word}</a>" for word in self.shown)
        messages = [{"role": "user", "content": f"Task Instruction: {self.task.intent}\n\nRound {self.count}\n\n{page}"}]
        return {"goal": self.task.intent, "page": page, "messages": messages, "step": self.count, "action_error": error}

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
        over = clicked is not None
        info = self._info("" if over else "there is no such element")
        success = clicked == self.task.target
        if over or self.count >= self.max_steps:
            info |= {"success": success, "verdicts": [{"check": "state", "passed": success, "reason": ""}]}
        return "", float(success), over, not over and self.count >= self.max_steps, info


gymnasium.register(ENV_ID, TinyShop, disable_env_checker=True, order_enforce=False)


def demonstrations(count, seed=0):
    env, result = TinyShop(), []
    for number, task in enumerate(tasks(count, seed)):
        _, info = env.reset(seed=number, options={"task": task})
        result.append(Demonstration(task.task_id, tuple(info["messages"]), reply_to(task.target)))
    return result


def texts():
    return [text for item in demonstrations(60) for text in (item.messages[0]["content"], item.reply)]


def tiny_model(seed=0):
    tokenizer = small.train_tokenizer(texts(), 400)
    torch.manual_seed(seed)
    return small.create_model(tokenizer, width=32, layers=2, heads=2, seed=seed), tokenizer
