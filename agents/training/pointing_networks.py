"""A pointing network in training: the policy that plays with it, the log-probabilities of its choices, and a memory of steps."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy
import torch
from torch import Tensor

from agents.data.trajectories import Trajectory, action_of
from agents.data.workflows import names_of, workflow_step
from agents.models.checkpoints import agent_record, is_pointer, save_agent
from agents.models.critics import Critic, PointerCritics
from agents.models.pointer.decoding import ACTION, Choice, Question, Session, expert_decisions, trajectory_choices
from agents.models.pointer.memory import StepMemory, StoredStep, stored_step
from agents.models.pointer.network import PointerNetwork, Vocabulary, choice_logprobs, load_pointer, pack_choices
from agents.models.pointer.reader import Reader, SharedReader
from agents.rollouts.pointer import PointerPolicy
from agents.training.settings import RememberSettings, TrainSettings
from webarena_gym.actions import DIALECTS, Action

THREADS = 1  # its matrices are small: more threads wait for each other, on a busy machine for minutes
CANDIDATES_PER_PASS = 65_536
_CLIP = 1.0  # largest norm of a memory's gradient
Decided = tuple[Question, int, Tensor]  # a question, its right candidate, and the scores of the network without memory


class PointingNetwork:
    """A pointing network, whose tokens are the choices of a reply. It is trained and played on CPUs of one machine.

    Questions are made again from the episodes that are trained on, with the reader of the policy in this process.
    """

    beta2, weight_decay, threads = 0.99, 0.01, THREADS
    encoder = None  # it reads pages, no prompts

    def __init__(self, network: PointerNetwork, vocabulary: Vocabulary, settings: TrainSettings) -> None:
        self.check(settings)
        self.network, self.tokenizer = network, vocabulary
        self.critics = PointerCritics(settings.seed)
        self._settings, self._readers = settings, SharedReader()
        self._recalled: dict[int, tuple[Trajectory, list[list[Choice]]]] = {}  # by the episode's id, which it keeps taken

    @classmethod
    def load(cls, source: str | Path, settings: TrainSettings) -> "PointingNetwork":
        """Return the network in a folder or run."""
        return cls(*load_pointer(source), settings)

    @staticmethod
    def check(settings: TrainSettings) -> None:
        """Raise ValueError for what only language models can do."""
        if settings.elements != "id":
            raise ValueError(f"elements is {settings.elements!r}; expected 'id' with a pointing network")
        for name in ("vllm", "constrained", "lora_rank", "gradient_checkpointing", "overlap", "cluster", "distilled"):
            if value := getattr(settings, name, None):
                raise ValueError(f"{name} is {value!r}, which is for language models; expected its default")
        if settings.contexts == "released":
            raise ValueError("contexts is 'released', which is for language models; expected 'sampled'")

    def policy(self) -> PointerPolicy:
        """Return a policy, which scores in this process. It reads the env's own dialect."""
        dialect = DIALECTS["webrl"].naming_by(self._settings.elements)
        return PointerPolicy(self.network, self.tokenizer, dialect, self._settings.temperature, self._readers)

    def choices(self, episode: Trajectory) -> list[list[Choice]]:
        """Return of each step of an episode the questions, and what was chosen."""
        if id(episode) not in self._recalled:
            self._recalled[id(episode)] = episode, trajectory_choices(self._readers.current, episode)
        return self._recalled[id(episode)][1]

    def logprobs(self, choices: Sequence[Any]) -> Iterator[tuple[list[int], list[Tensor]]]:
        """Yield the places of some of these choices and the log-probabilities of each, pass after pass."""
        for batch in pack_choices(choices, range(len(choices)), CANDIDATES_PER_PASS, self._readers.current):
            values = choice_logprobs(self.network, batch, self.tokenizer, self._settings.temperature)
            yield list(batch.samples), list(values.split(batch.lengths))

    def forget(self) -> None:
        """Release the choices, and the reader where it has grown large."""
        self._recalled.clear()
        self._readers.limit_texts()

    def critic(self) -> Critic:
        """Return a new critic, which reads words and begins with parameters of its own."""
        return self.critics.create(rate=2e-3)


# A memory of steps.


def fill(args: RememberSettings, trajectories: Sequence[Trajectory]) -> dict[str, float]:
    """Write a network that remembers the successes among these episodes; return its number of steps, and the last loss of its read.

    The read learns to do what was done there, from the steps towards other goals. Nothing else of the network changes. A step whose
    act is not found among the candidates ends an episode. Raises ValueError if there is no success, or the model is no pointing network.
    """
    if not is_pointer(args.model):
        raise ValueError(f"{args.model} is no pointing network; expected a run of agents.train_bc --model pointer")
    torch.set_num_threads(THREADS)
    torch.manual_seed(args.seed)
    network, vocabulary = load_pointer(args.model)
    successes = [item for item in trajectories if item.reward == 1 and item.ending != "failed"]
    steps = list[StoredStep]()
    for item in successes:
        session, names = Session(Reader(), item.goal), names_of(item.goal)
        for page, action, has_error, failed in _acted(item):
            situation = session.situation(page)
            if not expert_decisions(session, page, action, has_error=has_error)[1]:
                break
            if not failed:
                steps.append(stored_step(situation, workflow_step(*session.labelled_actions()[-1], names)))
    if not steps:
        raise ValueError(f"none of the {len(trajectories)} episodes has a successful step to remember")
    memory = StepMemory(steps[-args.size :], args.nearest)
    network.set_memory(memory)
    decided = _decisions(network, vocabulary, memory, successes)
    read, last = network.read, 0.0
    assert read is not None
    rng = numpy.random.default_rng(args.seed)
    optimizer = torch.optim.Adam(read.parameters(), args.read_learning_rate)
    for _ in range(args.read_updates if decided else 0):
        chosen = [decided[index] for index in rng.integers(len(decided), size=min(64, len(decided)))]
        lengths = [len(scores) for _, _, scores in chosen]
        owners = torch.arange(len(chosen)).repeat_interleave(torch.tensor(lengths))
        recalled = [question.retrieval for question, _, _ in chosen if question.retrieval is not None]
        scores = torch.cat([scores for _, _, scores in chosen]) + read(recalled, owners)
        logprobs = [own.log_softmax(0)[right] for own, (_, right, _) in zip(scores.split(lengths), chosen, strict=True)]
        loss = -torch.stack(logprobs).mean()
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(read.parameters(), _CLIP)
        optimizer.step()
        last = loss.item()
    save_agent(args.out, network, vocabulary, agent_record(args.model))
    return {"steps_remembered": len(memory), "successes": len(successes), "read_loss": round(last, 4)}


def _acted(trajectory: Trajectory) -> Iterator[tuple[str, Action, bool, bool]]:
    """Yield the page and action of each step, whether the page tells of an error, and whether the action had one; to the first that is none."""
    has_error = False
    for step in trajectory.steps:
        if (action := action_of(step.reply)) is None:
            return
        yield step.page, action, has_error, bool(step.action_error)
        has_error = bool(step.action_error)


def _decisions(
    network: PointerNetwork, vocabulary: Vocabulary, memory: StepMemory, successes: Sequence[Trajectory]
) -> list[Decided]:
    """Return the acts that were right in the episodes, each with what is remembered of other goals."""
    found: list[Decided] = []
    read, network.read = network.read, None  # the scores of the network alone
    reader = Reader()
    for item in successes:
        reader.memory = memory.without(item.goal)
        session = Session(reader, item.goal)
        for page, action, has_error, failed in _acted(item):
            decisions, is_whole = expert_decisions(session, page, action, has_error=has_error)
            if decisions and decisions[0].question.stage == ACTION and not failed:
                question = decisions[0].question
                with torch.no_grad():
                    scores = network([question], reader.texts, vocabulary).values
                found.append((question, decisions[0].correct[0], scores))
            if not is_whole:
                break
    network.read = read
    return found
