"""Training interface of pointer networks: the policy, the log-probabilities of choices, and the fit of a memory of steps."""

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
from agents.training.settings import ModelSettings, RememberSettings
from webarena_gym.actions import DIALECTS, Action

THREADS = 1  # the matrices are small, and several threads would wait for each other, on a busy machine for minutes
CANDIDATES_PER_PASS = 65_536
_MAX_GRAD_NORM = 1.0  # in the training of a memory's read
ReadExample = tuple[Question, int, Tensor]
"""A question, the index of its correct candidate, and the scores of the network without memory."""


class PointingNetwork:
    """A pointer network in training, on the CPUs of one machine. The tokens of a reply are its choices.

    The questions of an episode are recreated from its steps, with the reader of this process's policy.
    """

    beta2, weight_decay, threads = 0.99, 0.01, THREADS
    encoder = None  # the network reads pages instead of prompts

    def __init__(self, network: PointerNetwork, vocabulary: Vocabulary, settings: ModelSettings) -> None:
        self.check(settings)
        self.network, self.tokenizer = network, vocabulary
        self.critics = PointerCritics(settings.seed)
        self._settings, self._readers = settings, SharedReader()
        # By id of the episode. The entry refers to the episode, so that its id is not reused.
        self._choices: dict[int, tuple[Trajectory, list[list[Choice]]]] = {}

    @classmethod
    def load(cls, source: str | Path, settings: ModelSettings) -> "PointingNetwork":
        """Load the network of a model folder or run."""
        return cls(*load_pointer(source), settings)

    @staticmethod
    def check(settings: ModelSettings) -> None:
        """Raise ValueError for options that only language models support."""
        if settings.elements != "id":
            raise ValueError(f"elements is {settings.elements!r}; expected 'id' with a pointer network")
        language_model_options = (
            "vllm",
            "constrained",
            "lora_rank",
            "lora_layers",
            "gradient_checkpointing",
            "distilled",
            "chat_template_kwargs",
        )
        for name in language_model_options:
            if value := getattr(settings, name):
                raise ValueError(f"{name} is {value!r}, which is for language models; leave it out")
        if settings.contexts == "released":
            raise ValueError("contexts is 'released', which is for language models; expected 'sampled'")

    def policy(self) -> PointerPolicy:
        """Return a policy that runs the network in this process and replies in the env's default dialect."""
        dialect = DIALECTS["webrl"].naming_by(self._settings.elements)
        return PointerPolicy(self.network, self.tokenizer, dialect, self._settings.temperature, self._readers)

    def choices(self, episode: Trajectory) -> list[list[Choice]]:
        """Return the questions of each step of an episode, with the index of the selected candidate."""
        if id(episode) not in self._choices:
            self._choices[id(episode)] = episode, trajectory_choices(self._readers.current, episode)
        return self._choices[id(episode)][1]

    def logprobs(self, choices: Sequence[Any]) -> Iterator[tuple[list[int], list[Tensor]]]:
        """Yield the indices of the steps of a forward pass and the log-probabilities (choices,) of each step, pass after pass."""
        for batch in pack_choices(choices, range(len(choices)), CANDIDATES_PER_PASS, self._readers.current):
            values = choice_logprobs(self.network, batch, self.tokenizer, self._settings.temperature)
            yield list(batch.samples), list(values.split(batch.lengths))

    def forget(self) -> None:
        """Release the cached choices, and the texts of a large reader."""
        self._choices.clear()
        self._readers.limit_texts()

    def critic(self) -> Critic:
        """Return a new critic, which reads words and shares no parameters with the network."""
        return self.critics.create(rate=2e-3)


# A memory of steps.


def fill(args: RememberSettings, trajectories: Sequence[Trajectory]) -> dict[str, float]:
    """Write the network with a memory of the successful episodes.

    The memory's read is trained to predict the actions of these episodes from the stored steps of other goals. The other parameters are
    unchanged. An episode is used up to the first step whose action is not a candidate.

    Args:
        args: The settings, with the model and the folder to write.
        trajectories: Episodes, of which the successful ones are stored.

    Returns:
        The number of stored steps, the number of successes, and the last loss of the read.

    Raises:
        ValueError: There is no successful step, or the model is not a pointer network.

    """
    if not is_pointer(args.model):
        raise ValueError(f"{args.model} is not a pointer network; expected a run of agents.train_bc --model pointer")
    torch.set_num_threads(THREADS)
    torch.manual_seed(args.seed)
    network, vocabulary = load_pointer(args.model)
    successes = [item for item in trajectories if item.reward == 1 and item.ending != "failed"]
    steps = list[StoredStep]()
    for item in successes:
        session, names = Session(Reader(), item.goal), names_of(item.goal)
        for page, action, has_error, is_error in _iterate_actions(item):
            situation = session.situation(page)
            if not expert_decisions(session, page, action, has_error=has_error)[1]:
                break
            if not is_error:
                steps.append(stored_step(situation, workflow_step(*session.labelled_actions()[-1], names)))
    if not steps:
        raise ValueError(f"none of the {len(trajectories)} episodes is successful; expected at least one, to store its steps")
    memory = StepMemory(steps[-args.size :], args.nearest)
    network.set_memory(memory)
    examples = _read_examples(network, vocabulary, memory, successes)
    read, last_loss = network.read, 0.0
    assert read is not None
    rng = numpy.random.default_rng(args.seed)
    optimizer = torch.optim.Adam(read.parameters(), args.read_learning_rate)
    for _ in range(args.read_updates if examples else 0):
        batch = [examples[index] for index in rng.integers(len(examples), size=min(64, len(examples)))]
        lengths = [len(scores) for _, _, scores in batch]
        owners = torch.arange(len(batch)).repeat_interleave(torch.tensor(lengths))
        retrievals = [question.retrieval for question, _, _ in batch if question.retrieval is not None]
        scores = torch.cat([scores for _, _, scores in batch]) + read(retrievals, owners)
        logprobs = [part.log_softmax(0)[correct] for part, (_, correct, _) in zip(scores.split(lengths), batch, strict=True)]
        loss = -torch.stack(logprobs).mean()
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(read.parameters(), _MAX_GRAD_NORM)
        optimizer.step()
        last_loss = loss.item()
    save_agent(args.out, network, vocabulary, agent_record(args.model))
    return {"steps_remembered": len(memory), "successes": len(successes), "read_loss": round(last_loss, 4)}


def _iterate_actions(trajectory: Trajectory) -> Iterator[tuple[str, Action, bool, bool]]:
    """Yield the page and the action of each step, whether the previous action failed, and whether this action failed.

    Ends before the first reply without an action.
    """
    has_error = False
    for step in trajectory.steps:
        if (action := action_of(step.reply)) is None:
            return
        yield step.page, action, has_error, bool(step.action_error)
        has_error = bool(step.action_error)


def _read_examples(
    network: PointerNetwork, vocabulary: Vocabulary, memory: StepMemory, successes: Sequence[Trajectory]
) -> list[ReadExample]:
    """Return the action decisions of the episodes, whose retrievals contain only steps of other goals."""
    examples: list[ReadExample] = []
    read, network.read = network.read, None  # compute scores without the memory
    reader = Reader()
    for item in successes:
        reader.memory = memory.without(item.goal)
        session = Session(reader, item.goal)
        for page, action, has_error, is_error in _iterate_actions(item):
            decisions, is_complete = expert_decisions(session, page, action, has_error=has_error)
            if decisions and decisions[0].question.stage == ACTION and not is_error:
                question = decisions[0].question
                with torch.no_grad():
                    scores = network([question], reader.texts, vocabulary).values
                examples.append((question, decisions[0].correct[0], scores))
            if not is_complete:
                break
    network.read = read
    return examples
