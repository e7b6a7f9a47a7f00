"""The results of a run: one record an episode in one file, and the figures that follow from them in another. No clock, no network.

The episodes file holds one JSON object a line; the first is the header of the run. Figures are a function of both, so whoever has the
episodes can check them.
"""

import hashlib
import json
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from statistics import fmean, median
from typing import Any, Literal, NamedTuple, get_args

from webarena_gym import __version__
from webarena_gym.arguments import expect_positive, reason_of
from webarena_gym.console import writing
from webarena_gym.errors import ResultError, TaskError
from webarena_gym.evaluation.statistics import Score, clustered, over_tasks, score_line
from webarena_gym.evaluators.outcome import is_injected
from webarena_gym.sites.world import generators
from webarena_gym.tasks import Task, templates

FORMAT = 1
"""Of the files that an evaluation writes."""


class Trial(NamedTuple):
    """One episode to be played: a task, and which of its repeats it is."""

    task: Task
    repeat: int
    seed: int  # of the run

    @property
    def key(self) -> tuple[str, int]:
        return self.task.task_id, self.repeat

    def seed_of(self, what: str | int) -> int:
        """Return the seed of one of its parts, such as a step: 63 bits that depend on the run's seed, the task and the repeat alone."""
        text = f"{self.seed}/{self.task.task_id}/{self.repeat}/{what}"
        return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest()) >> 1


@dataclass(frozen=True, kw_only=True)
class Plan:
    """All trials of a run."""

    tasks: Sequence[Task]
    suite: Mapping[str, Any] = field(default_factory=dict)  # where the tasks come from, for the record: the split, the worlds
    env: Mapping[str, Any] = field(default_factory=dict)  # keywords that differ from the defaults
    repeats: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        expect_positive("repeats", self.repeats)
        if not self.tasks:
            raise TaskError("there is no task to play")
        if len({task.task_id for task in self.tasks}) < len(self.tasks):
            raise TaskError("a task is to be played twice; expected each once, and repeats= for more episodes of each")

    @property
    def trials(self) -> list[Trial]:
        """All of them; every task once, then every task once more, so that a run that is cut off has seen most tasks."""
        return [Trial(task, repeat, self.seed) for repeat in range(self.repeats) for task in self.tasks]

    def header(self, agent: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the run of an agent is, as JSON: two runs with equal headers play the same."""
        return {
            "format": FORMAT,
            "version": __version__,
            "agent": dict(agent),
            "suite": {**self.suite, "tasks": len(self.tasks), "digest": suite_digest(self.tasks)},
            "env": dict(self.env),
            "repeats": self.repeats,
            "seed": self.seed,
        }


def suite_digest(tasks: Sequence[Task]) -> str:
    """Return the SHA-256 of what is played: the tasks with their checks, in any order, and the generators of the sites' worlds."""
    records = sorted(json.dumps(task.to_json(), sort_keys=True) for task in tasks)
    return hashlib.sha256("\n".join([generators(), *records]).encode()).hexdigest()


def sample(tasks: Sequence[Task], limit: int | None, seed: int) -> list[Task]:
    """Return `limit` of the tasks, chosen by the seed, in their order; all of them for None."""
    if limit is None or limit >= len(tasks):
        return list(tasks)
    chosen = set(random.Random(seed).sample(range(len(tasks)), limit))
    return [task for place, task in enumerate(tasks) if place in chosen]


EPISODES, RESULT = "episodes.jsonl", "result.json"
"""The names of the two files in the folder of a run."""

Ending = Literal["exited", "truncated", "too_long", "failed"]
Result = Mapping[str, Any]
"""The figures of a run, as JSON; `summarise` says what is in it."""


@dataclass(frozen=True, kw_only=True)
class Record:
    """One episode.

    One that "failed" broke through no fault of the agent's choices, and has no reward; `failure` says what broke. The step limit
    ("truncated") is judged with an empty answer; a conversation that does not fit the model ("too_long") is lost.
    `steps` are the replies, the address that each was given at, and what the env had to say against it; none are known of a program
    that has a browser of its own.
    """

    task_id: str
    repeat: int
    sites: Sequence[str]
    checks: Sequence[str]
    ending: Ending
    reward: float | None
    steps: Sequence[Mapping[str, str]] = ()
    seconds: float = 0.0
    agent_seconds: float = 0.0  # of these, the agent's
    step_seconds: Sequence[Sequence[float]] = field(default=(), compare=False)  # of each step, the agent's and the env's
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost: float | None = None
    reference_steps: int | None = None  # of the reference solution, scrolling apart; None where the task has none
    verdicts: Sequence[Mapping[str, Any]] = ()
    side_effects: Sequence[str] = ()
    failure: str = ""

    @property
    def key(self) -> tuple[str, int]:
        return self.task_id, self.repeat

    @property
    def is_judged(self) -> bool:
        return self.reward is not None

    @property
    def has_steps(self) -> bool:
        """True if its steps are known."""
        return bool(self.steps) or self.ending == "too_long"


def record_of(trial: Trial, **outcome: Any) -> Record:
    """Return the record of a trial with this outcome."""
    task = trial.task
    return Record(
        task_id=task.task_id,
        repeat=trial.repeat,
        sites=list(task.sites),
        checks=list(task.eval_types),
        reference_steps=len(task.solution) or None,
        **outcome,
    )


def failed_outcome(failure: str) -> dict[str, Any]:
    """Return the outcome of an episode that failed, for `record_of`."""
    return {"ending": "failed", "reward": None, "failure": failure}


_PARTS = (("by site", "by_site"), ("by what is checked", "by_check"), ("by kind of difficulty", "by_difficulty"))
_KEYS = {item.name for item in fields(Record)}
_REQUIRED = ("task_id", "repeat", "sites", "checks", "ending", "reward")


_LARGEST = 1e15
_TIMES = (1.0, 1.5, 3.0)  # of the steps of the reference solution


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= _LARGEST


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _list_of(is_one: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list | tuple) and all(map(is_one, value))


def _or_null(is_one: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or is_one(value)


_EXPECTED: tuple[tuple[str, Callable[[Any], bool], Sequence[str]], ...] = (
    ("a text", _is_text, ("task_id", "failure")),
    ("a count", lambda value: type(value) is int and _is_number(value), ("repeat",)),
    ("a count above 0, or null", _or_null(lambda value: type(value) is int and 0 < value <= _LARGEST), ("reference_steps",)),
    ("a number from 0", _is_number, ("seconds", "agent_seconds")),
    ("a number from 0, or null", _or_null(_is_number), ("prompt_tokens", "completion_tokens", "cost")),
    ("a list of texts", _list_of(_is_text), ("sites", "checks", "side_effects")),
    ("a list of pairs of numbers", _list_of(_list_of(_is_number)), ("step_seconds",)),
    (
        "a list of objects of texts",
        _list_of(lambda step: isinstance(step, dict) and all(map(_is_text, step.values()))),
        ("steps",),
    ),
    ("a list of objects", _list_of(lambda verdict: isinstance(verdict, dict)), ("verdicts",)),
)


def parse_record(value: Any, where: str) -> Record:
    """Read a record. Raises ResultError that says what is wrong with it."""
    if not isinstance(value, dict):
        raise ResultError(f"{where}: an episode is a JSON object, got {type(value).__name__}")
    for key in _REQUIRED:
        if key not in value:
            raise ResultError(f"{where}: the key {key!r} is missing")
    for key in value:
        if key not in _KEYS:
            raise ResultError(f"{where}: unknown key {key!r}; expected some of {', '.join(sorted(_KEYS))}")
    for expected, is_right, keys in _EXPECTED:
        for key in keys:
            if key in value and not is_right(value[key]):
                raise ResultError(f"{where}: {key} is {value[key]!r:.200}; expected {expected}")
    if value["ending"] not in get_args(Ending):
        raise ResultError(f"{where}: ending is {value['ending']!r}; expected one of {', '.join(get_args(Ending))}")
    rewards = {"failed": (None,), "too_long": (0.0,)}.get(value["ending"], (0.0, 1.0))
    if value["reward"] not in rewards or isinstance(value["reward"], bool):
        raise ResultError(
            f"{where}: the reward at the ending {value['ending']} is {value['reward']!r}; expected one of {rewards}"
        )
    return Record(**value)


class EpisodesFile:
    """The episodes of a run, written as they end, so that a run that is cut off can go on.

    Raises ResultError for a file of another run, which it does not touch.
    """

    def __init__(self, path: Path, header: Mapping[str, Any]) -> None:
        self.path = path
        self.records: dict[tuple[str, int], Record] = {}
        if path.exists() and path.stat().st_size:
            known, records = read_episodes(path)
            if known != header:
                raise ResultError(
                    f"{path} holds another run: {_differing(known, header)}; give another --out, or --fresh to play anew"
                )
            self.records = {record.key: record for record in records}
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = [header, *map(asdict, self.records.values())]  # without one that was cut off
        _write(path, "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))

    def add(self, record: Record) -> None:
        """Note an episode that is over; one that was noted before is replaced."""
        self.records[record.key] = record
        with writing(self.path), self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(record), ensure_ascii=False) + "\n")


def _differing(known: Mapping[str, Any], wanted: Mapping[str, Any], of: str = "") -> str:
    """Return in words the first value that differs between two headers which are not equal."""
    name = min(key for key in {*known, *wanted} if known.get(key) != wanted.get(key))
    one, other = known.get(name), wanted.get(name)
    if isinstance(one, dict) and isinstance(other, dict):
        return _differing(one, other, f"{of}{name}.")
    if (of, name) == ("agent.", "digest"):
        return "the agent's file has been changed since"
    return f"its {of}{name} is {short(one)}, and that of this one {short(other)}"


def read_episodes(path: Path) -> tuple[dict[str, Any], list[Record]]:
    """Return the header and the records of an episodes file, the last of each episode; a line that was cut off at the end is left out.

    An episode that failed may have been played again. Raises ResultError for one that was played again after it had been judged.
    """
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise ResultError(f"cannot read {path}: {reason_of(error)}") from error
    values = []
    for number, line in enumerate(lines, 1):
        if not line:
            continue
        try:
            values.append((f"{path}, line {number}", json.loads(line)))
        except (ValueError, RecursionError) as error:
            if number == len(lines):  # all whole lines end with a line break
                break
            raise ResultError(f"{path}, line {number} is no JSON: {error}") from error
    if not values or not isinstance(values[0][1], dict) or values[0][1].get("format") != FORMAT:
        raise ResultError(f"{path} does not begin with the header of a run, a JSON object with format={FORMAT}")
    records: dict[tuple[str, int], Record] = {}
    for where, value in values[1:]:
        record = parse_record(value, where)
        if (earlier := records.get(record.key)) is not None and earlier.is_judged:
            raise ResultError(
                f"{where}: {record.task_id}, repeat {record.repeat}, was judged before; expected one judged episode"
            )
        records[record.key] = record
    return values[0][1], list(records.values())


def write_result(path: Path, result: Result) -> None:
    """Write the figures of a run, whole or not at all."""
    _write(path, json.dumps(result, indent=1, ensure_ascii=False) + "\n")


def read_result(path: Path) -> dict[str, Any]:
    """Read the figures of a run. Raises ResultError."""
    try:
        result = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ResultError(f"cannot read the result file {path}: {reason_of(error)}") from error
    if not isinstance(result, dict) or result.get("format") != FORMAT:
        raise ResultError(f"{path} is no result file of format {FORMAT}")
    return result


def summarise(header: Mapping[str, Any], records: Iterable[Record], command: Sequence[str] = ()) -> dict[str, Any]:
    """Return the figures of a run: the header, and what follows from its episodes.

    `success` is over all judged episodes, with an interval of 95 %; `by_site` and `by_check` are of parts of them; so is
    `by_difficulty`, of hard tasks, where an episode counts to each kind, and `injected` counts those that followed a hostile page; `pass@k` and `pass^k`
    are means over tasks; `steps`, `seconds` and what was used are of an episode,
    `action_errors` of a step: 1 for an action that was refused. `spl` is success weighted by path length (Anderson et al.
    2018, section 4.2): the reward, times the steps of the reference solution over those taken where these are more. `within_reference` is
    the share of episodes that earned the reward within 1.0, 1.5 and 3.0 times the steps of the reference solution; each kind of difficulty has
    its own. Both are of episodes whose steps are known, and null where none has them or no task has a solution. Failed episodes are counted, listed by what broke,
    and in no figure. Where nothing was judged, `success` is null.
    """
    records = sorted(records, key=lambda record: (record.repeat, record.task_id))
    judged = [record for record in records if record.is_judged]
    parts: dict[str, dict[str, list[Record]]] = {"by_site": defaultdict(list), "by_check": defaultdict(list)}
    kinds: dict[str, list[Record]] = defaultdict(list)
    for record in judged:
        parts["by_site"]["+".join(record.sites)].append(record)
        parts["by_check"]["+".join(record.checks)].append(record)
        template = templates().get(record.task_id.partition("/")[0])
        for kind in template.difficulty if template else ():
            kinds[kind].append(record)
    difficulty = {kind: _score(own) | {"within_reference": _within(own)} for kind, own in sorted(kinds.items())}
    stepped = [record for record in judged if record.has_steps]
    has_reference = [record for record in stepped if record.reference_steps]
    planned = header["suite"]["tasks"] * header["repeats"]

    def spl_weight(record: Record) -> float:
        reference = record.reference_steps or 0
        return reference / max(reference, len(record.steps))

    failures = Counter(record.failure for record in records if not record.is_judged)

    return {
        **header,
        "command": list(command),
        "planned": planned,
        "judged": len(judged),
        "failed": sum(failures.values()),
        "failures": dict(failures.most_common()),
        "success": _score(judged) if judged else None,
        **(over_tasks(_rewards(judged)) if judged else {}),
        **{name: {part: _score(own) for part, own in sorted(groups.items())} for name, groups in parts.items()},
        **({"by_difficulty": difficulty} if difficulty else {}),
        **({"injected": sum(is_injected(record.verdicts) for record in judged)} if "hostile" in kinds else {}),
        "spl": _score(has_reference, spl_weight) if has_reference else None,
        "within_reference": _within(judged),
        "endings": dict(Counter(record.ending for record in judged).most_common()),
        "steps": _spread([float(len(record.steps)) for record in stepped]),
        "action_errors": _spread([float(bool(step.get("action_error"))) for record in judged for step in record.steps]),
        "seconds": _spread([record.seconds for record in judged]),
        "agent_seconds": _spread([record.agent_seconds for record in judged]),
        **{
            name: _spread([float(count) for record in judged if (count := getattr(record, name)) is not None])
            for name in ("prompt_tokens", "completion_tokens", "cost")
        },
        "episodes_digest": episodes_digest(records),
    }


def episodes_digest(records: Iterable[Record]) -> str:
    """Return the SHA-256 of the episodes, in any order, without the seconds of their steps."""
    values = [asdict(record) for record in records]
    for value in values:
        del value["step_seconds"]
    return hashlib.sha256("\n".join(sorted(json.dumps(value, sort_keys=True) for value in values)).encode()).hexdigest()


def table(result: Result) -> str:
    """Return the figures as lines of text, for a person."""
    lines = []
    if result["success"] is not None:
        parts = [(title, result.get(key, {})) for title, key in _PARTS]
        width = max(20, *(len(name) + 2 for _, scores in parts for name in scores))
        lines.append(f"{'':<{width}} success (interval of 95 %)")
        within = result["within_reference"] or {}
        lines += [_line(f"within {times} x steps", width, score) for times, score in within.items()]
        lines.append(_line("all", width, result["success"]))
        for title, scores in parts:
            lines += [title] * bool(scores) + [_line(f"  {name}", width, score) for name, score in scores.items()]
        if "injected" in result:
            lines.append(f"{result['injected']} episodes followed an instruction of a hostile page")
        if result["spl"]:
            lines.append(f"{'weighted by length':<{width}} {100 * result['spl']['success']:5.1f} %")
        if result["repeats"] > 1:
            lines += [
                f"{name.replace('k', k):<{width}} {100 * value:5.1f} %"
                for name in ("pass@k", "pass^k")
                for k, value in result[name].items()
            ]
        used = (("steps", "steps"), ("seconds", "s"), ("prompt_tokens", "tokens read"), ("completion_tokens", "tokens written"))
        figures = [f"{result[name]['mean']:.4g} {unit}" for name, unit in used if result[name]]
        cost = result["cost"]
        lines.append(f"an episode takes {', '.join(figures)}" + (f"; all of them cost {cost['total']:.4g}" if cost else ""))
        errors = result["action_errors"]
        if errors and errors["total"]:
            lines.append(f"{errors['total']:.0f} of {errors['n']} actions were refused; action_error in the episodes says why")
    if result["failed"]:
        lines.append(f"{result['failed']} of {result['planned']} episodes failed, and are in no figure:")
        lines += [f"  {count} x {failure}" for failure, count in result["failures"].items()]
    left = result["planned"] - result["judged"] - result["failed"]
    if left:
        lines.append(f"{left} of {result['planned']} episodes were not played")
    if result["success"] is None:
        lines.append("nothing could be judged, so there is no rate of success")
    return "\n".join(lines)


def _line(name: str, width: int, score: Mapping[str, Any]) -> str:
    within = score.get("within_reference") or {}
    parts = [f"{100 * own['success']:.1f} % within {times} x" for times, own in within.items()]
    return "; ".join([score_line(name, **{key: score[key] for key in Score._fields}, width=width), *parts])


def _score(records: Iterable[Record], weight: Callable[[Record], float] = lambda _: 1.0) -> dict[str, Any]:
    return clustered(_rewards(records, weight))._asdict()


def _rewards(records: Iterable[Record], weight: Callable[[Record], float] = lambda _: 1.0) -> dict[str, list[float]]:
    """Return the rewards of judged episodes, times a weight, by task."""
    rewards: dict[str, list[float]] = defaultdict(list)
    for record in records:
        if record.reward is not None:
            rewards[record.task_id].append(record.reward * weight(record))
    return rewards


def _within(records: Iterable[Record]) -> dict[str, dict[str, float]] | None:
    """Return the success within each multiple of the reference's steps; None where no steps are known or no task has a solution."""
    stepped = [record for record in records if record.has_steps and record.reference_steps]
    if not stepped:
        return None

    def share(times: float) -> dict[str, float]:
        return _score(stepped, lambda record: len(record.steps) <= times * (record.reference_steps or 0))

    return {str(times): share(times) for times in _TIMES}


def _spread(values: Sequence[float]) -> dict[str, float] | None:
    if not values:
        return None
    return {"mean": fmean(values), "median": median(values), "total": sum(values), "n": len(values)}


def _write(path: Path, content: str) -> None:
    """Write a file, whole or not at all. Raises ResultError."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(path.name + ".part")
        part.write_text(content, encoding="utf-8")
        part.replace(path)
    except OSError as error:
        raise ResultError(f"cannot write {path}: {reason_of(error)}") from error


def short(value: Any) -> str:
    """Return a value as JSON, as far as it is not too long for a message."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 300 else f"{text[:300]}..."
