"""Policies: the same few lines drive an expert, dice, or any Hugging Face causal language model."""

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from agents.engine import Engine, Generation
from agents.prompts import System, prompt_ids, system_prompt
from webarena_gym.actions import Action, Kind
from webarena_gym.env import WebArenaLite
from webarena_gym.observation import visible_text
from webarena_gym.tasks import Expert

CONFIG_FILE = "agent.json"


class Policy(Protocol):
    """Chooses replies for several episodes at once."""

    name: str

    @property
    def env_options(self) -> Mapping[str, Any]:
        """The keywords of `make` that the policy expects."""
        ...

    def replies(self, envs: Sequence[WebArenaLite], infos: Sequence[Mapping[str, Any]]) -> list[str]:
        """Return one reply for each env, in order; `infos` are what `reset` or `step` returned last."""
        ...


@dataclass(frozen=True)
class AgentConfig:
    """How a language model is used as an agent; kept beside its weights, so that a checkpoint says how to run it."""

    elements: str = "id"  # how it names elements
    history: str = "compressed"
    window: int = 12_000  # characters of a page in one view
    header: bool = True  # whether it reads the URL and the tabs
    system: System = "thinking"
    max_new_tokens: int = 1024
    max_prompt_tokens: int = 16_384  # of a longer prompt the end is kept

    @property
    def env_options(self) -> dict[str, Any]:
        """The keywords of `make` that it needs."""
        return {"elements": self.elements, "history": self.history, "window": self.window, "header": self.header}

    def save(self, folder: Path) -> None:
        """Write it beside a model."""
        (folder / CONFIG_FILE).write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: str | Path) -> "AgentConfig":
        """Read it from a model's folder; the defaults suit any instruction-tuned model that has none."""
        path = Path(folder) / CONFIG_FILE
        return cls(**json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else cls()


class Sampled(NamedTuple):
    """A reply of a language model, with the exact tokens that it read and wrote."""

    prompt_ids: tuple[int, ...]
    generation: Generation
    text: str


class ExpertPolicy:
    """Replays the reference solutions."""

    name = "expert"

    def __init__(self, env_options: Mapping[str, Any] | None = None, *, thoughts: bool = False) -> None:
        self.env_options = dict(env_options or {})
        self._thoughts = thoughts
        self._experts: dict[int, Expert] = {}

    def replies(self, envs: Sequence[WebArenaLite], infos: Sequence[Mapping[str, Any]]) -> list[str]:
        for env, info in zip(envs, infos, strict=True):
            if info["step"] == 0:
                self._experts[id(env)] = Expert(env.task, env.dialect, thoughts=self._thoughts)
        return [self._experts[id(env)].reply(env.page, env.observation) for env in envs]


class RandomPolicy:
    """Does something that the page allows: clicks, fills fields with words of the goal, chooses options, leaves now and then."""

    name = "random"
    env_options: Mapping[str, Any] = {}

    def __init__(self, seed: int = 0) -> None:
        self._random = random.Random(seed)

    def replies(self, envs: Sequence[WebArenaLite], infos: Sequence[Mapping[str, Any]]) -> list[str]:
        return [env.dialect.format(self._action(env, info)) for env, info in zip(envs, infos, strict=True)]

    def _action(self, env: WebArenaLite, info: Mapping[str, Any]) -> Action:
        words = info["goal"].split()
        nodes = env.observation.nodes
        if not nodes or self._random.random() < 0.1:
            answers = ["", "N/A", self._random.choice(words), self._random.choice(info["page"].split())]
            return Action(Kind.EXIT, argument=self._random.choice(answers))
        address = self._random.choice(list(nodes))
        element = nodes[address].element
        if element.tag == "select":
            options = [visible_text(option) for option in element.iter("option")] or [""]
            return Action(Kind.SELECT, address, self._random.choice(options))
        if element.tag == "textarea" or (
            element.tag == "input" and element.get("type", "text") not in ("checkbox", "radio", "submit")
        ):
            start = self._random.randrange(len(words))
            text = " ".join(words[start : start + self._random.randint(1, 4)])
            return Action(self._random.choice((Kind.TYPE, Kind.SEARCH)), address, text)
        return Action(Kind.CLICK, address)


@dataclass
class LanguageModelPolicy:
    """A causal language model behind an engine. `generator` makes its samples repeatable."""

    engine: Engine
    tokenizer: Any
    config: AgentConfig
    generator: torch.Generator = field(default_factory=torch.Generator)
    name: str = "model"

    @property
    def env_options(self) -> Mapping[str, Any]:
        return self.config.env_options

    def replies(self, envs: Sequence[WebArenaLite], infos: Sequence[Mapping[str, Any]]) -> list[str]:  # noqa: ARG002
        return [sampled.text for sampled in self.sample(infos)]

    def sample(self, infos: Sequence[Mapping[str, Any]]) -> list[Sampled]:
        """Return one reply for each chat in `infos`, with its token ids and log-probabilities."""
        prompts = [self.read(info["messages"]) for info in infos]
        generations = self.engine.generate(prompts, self.generator)
        return [
            Sampled(prompt, generation, self.tokenizer.decode(generation.response_ids, skip_special_tokens=True))
            for prompt, generation in zip(prompts, generations, strict=True)
        ]

    def read(self, messages: Any) -> tuple[int, ...]:
        """Return the token ids of a chat; of a prompt that is too long, the end."""
        system = system_prompt(self.config.system, elements=self.config.elements)
        return prompt_ids(self.tokenizer, messages, system)[-self.config.max_prompt_tokens :]


def load_language_model(path: str, *, temperature: float = 0.0, seed: int = 0) -> LanguageModelPolicy:
    """Load a causal language model by name or folder as a policy; temperature 0 takes the likeliest token."""
    tokenizer = AutoTokenizer.from_pretrained(path)
    model = AutoModelForCausalLM.from_pretrained(path)
    config = AgentConfig.load(path)
    engine = Engine(model, frozenset([tokenizer.eos_token_id]), max_new_tokens=config.max_new_tokens, temperature=temperature)
    generator = torch.Generator().manual_seed(seed)
    return LanguageModelPolicy(engine, tokenizer, config, generator, name=str(path))


def load_policy(name: str, *, temperature: float = 0.0, seed: int = 0) -> Policy:
    """Return the policy called "expert" or "random", or the language model at that name or path."""
    if name == "expert":
        return ExpertPolicy()
    if name == "random":
        return RandomPolicy(seed)
    return load_language_model(name, temperature=temperature, seed=seed)
