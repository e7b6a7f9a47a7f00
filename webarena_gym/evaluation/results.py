"""Plans, episode records and results of an evaluation run, and their files.

The episodes file has one JSON object per line: the header of the run, then one record per episode. The results are a pure function of
header and records, so that anybody with the episodes can check them.
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
from webarena_gym.evaluation.statistics import SCORE_COLUMNS, Score, clustered_score, mean_pass_rates, score_line
from webarena_gym.evaluators.outcome import is_injected
from webarena_gym.sites.world import generators
from webarena_gym.suite import templates
from webarena_gym.tasks import Task

FORMAT = 1
"""Format version of the files of an evaluation."""


class Trial(NamedTuple):
    """A planned episode: a task, the number of its repeat (from 0), and the seed of the run."""

    task: Task
    repeat: int
    seed: int

    @property
    def key(self) -> tuple[str, int]:
        return self.task.task_id, self.repeat

    def derive_seed(self, part: str | int) -> int:
        """Return the seed of a part of the trial, such as a step: 63 bits that depend only on the run's seed, the task, the repeat and the part."""
        text = f"{self.seed}/{self.task.task_id}/{self.repeat}/{part}"
        return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest()) >> 1


@dataclass(frozen=True, kw_only=True)
class EvaluationPlan:
    """All trials of a run.

    Attributes:
        tasks: the tasks, each once.
        suite: source of the tasks for the header, such as split and worlds.
        env: keywords of the env that differ from the defaults.
        repeats: episodes of each task.
        seed: random seed of the run.

    """

    tasks: Sequence[Task]
    suite: Mapping[str, Any] = field(default_factory=dict)
    env: Mapping[str, Any] = field(default_factory=dict)
    repeats: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        expect_positive("repeats", self.repeats)
        if not self.tasks:
            raise TaskError("the plan has no tasks")
        if len({task.task_id for task in self.tasks}) < len(self.tasks):
            raise TaskError("a task occurs twice; expected each task once, and repeats= for more episodes of each")

    @property
    def trials(self) -> list[Trial]:
        """The first repeat of all tasks, then the second, and so on, so that an interrupted run has played most tasks."""
        return [Trial(task, repeat, self.seed) for repeat in range(self.repeats) for task in self.tasks]

    def header(self, agent: Mapping[str, Any]) -> dict[str, Any]:
        """Return the header of a run as JSON; `agent` identifies the agent. Two runs with equal headers play the same episodes."""
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
    """Return the SHA-256 of the tasks with their checks, in any order, and of the generators of the sites' worlds."""
    records = sorted(json.dumps(task.to_json(), sort_keys=True) for task in tasks)
    return hashlib.sha256("\n".join([generators(), *records]).encode()).hexdigest()


def sample(tasks: Sequence[Task], limit: int | None, seed: int) -> list[Task]:
    """Return a random sample of `limit` tasks in their original order; all tasks for None."""
    if limit is None or limit >= len(tasks):
        return list(tasks)
    indices = set(random.Random(seed).sample(range(len(tasks)), limit))
    return [task for index, task in enumerate(tasks) if index in indices]


EPISODES, RESULT = "episodes.jsonl", "result.json"
"""Names of the two files in the folder of a run."""

Ending = Literal["exited", "truncated", "too_long", "failed"]
Result = Mapping[str, Any]
"""The results of a run as JSON, as returned by `summarise`."""


@dataclass(frozen=True, kw_only=True)
class Record:
    """Record of one episode.

    Attributes:
        task_id: id of the task.
        repeat: number of the repeat, from 0.
        sites: sites of the task.
        checks: eval kinds of the task.
        ending: "exited" by the agent; "truncated" at the step limit, and judged with an empty answer; "too_long" for a conversation
            that exceeds the model's context, with reward 0; "failed" for an infrastructure error, without a reward.
        reward: 1.0, 0.0, or None for a failed episode.
        steps: URL, reply and action error of each step; empty for programs with their own browser.
        seconds: duration of the episode.
        agent_seconds: the agent's share of the duration.
        step_seconds: seconds of the agent and of the env for each step.
        prompt_tokens: tokens of all prompts, if known.
        completion_tokens: tokens of all replies, if known.
        cost: cost in the server's currency, if known.
        reference_steps: steps of the reference solution without scrolling; None for a task without one.
        verdicts: verdicts of the evaluators.
        side_effects: changes beyond the task.
        failure: error message of a failed episode.

    """

    task_id: str
    repeat: int
    sites: Sequence[str]
    checks: Sequence[str]
    ending: Ending
    reward: float | None
    steps: Sequence[Mapping[str, str]] = ()
    seconds: float = 0.0
    agent_seconds: float = 0.0
    step_seconds: Sequence[Sequence[float]] = field(default=(), compare=False)
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost: float | None = None
    reference_steps: int | None = None
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
        """True if the steps are known."""
        return bool(self.steps) or self.ending == "too_long"


def make_record(trial: Trial, **outcome: Any) -> Record:
    """Return the record of a trial; `outcome` holds the fields that do not follow from the task."""
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
    """Return the outcome of a failed episode, for `make_record`."""
    return {"ending": "failed", "reward": None, "failure": failure}


_PARTS = (("by site", "by_site"), ("by kind of check", "by_check"), ("by kind of difficulty", "by_difficulty"))
_KEYS = {item.name for item in fields(Record)}
_REQUIRED = ("task_id", "repeat", "sites", "checks", "ending", "reward")


_MAX_NUMBER = 1e15
_STEP_FACTORS = (1.0, 1.5, 3.0)  # multiples of the steps of the reference solution


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= _MAX_NUMBER


def _is_string(value: object) -> bool:
    return isinstance(value, str)


def _list_of(is_item: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list | tuple) and all(map(is_item, value))


def _or_null(is_value: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or is_value(value)


_FIELD_TYPES: tuple[tuple[str, Callable[[Any], bool], Sequence[str]], ...] = (
    ("a string", _is_string, ("task_id", "failure")),
    ("an integer from 0", lambda value: type(value) is int and _is_number(value), ("repeat",)),
    (
        "an integer above 0, or null",
        _or_null(lambda value: type(value) is int and 0 < value <= _MAX_NUMBER),
        ("reference_steps",),
    ),
    ("a number from 0", _is_number, ("seconds", "agent_seconds")),
    ("a number from 0, or null", _or_null(_is_number), ("prompt_tokens", "completion_tokens", "cost")),
    ("a list of strings", _list_of(_is_string), ("sites", "checks", "side_effects")),
    ("a list of pairs of numbers", _list_of(_list_of(_is_number)), ("step_seconds",)),
    (
        "a list of objects of strings",
        _list_of(lambda step: isinstance(step, dict) and all(map(_is_string, step.values()))),
        ("steps",),
    ),
    ("a list of objects", _list_of(lambda verdict: isinstance(verdict, dict)), ("verdicts",)),
)


def parse_record(value: object, where: str) -> Record:
    """Return the record in a JSON value; `where` is its location for errors. Raises ResultError."""
    if not isinstance(value, dict):
        raise ResultError(f"{where}: an episode must be a JSON object, got {type(value).__name__}")
    for key in _REQUIRED:
        if key not in value:
            raise ResultError(f"{where}: the key {key!r} is missing")
    for key in value:
        if key not in _KEYS:
            raise ResultError(f"{where}: unknown key {key!r}; expected some of {', '.join(sorted(_KEYS))}")
    for expected, is_valid, keys in _FIELD_TYPES:
        for key in keys:
            if key in value and not is_valid(value[key]):
                raise ResultError(f"{where}: {key} is {value[key]!r:.200}; expected {expected}")
    if value["ending"] not in get_args(Ending):
        raise ResultError(f"{where}: ending is {value['ending']!r}; expected one of {', '.join(get_args(Ending))}")
    rewards = {"failed": (None,), "too_long": (0.0,)}.get(value["ending"], (0.0, 1.0))
    if value["reward"] not in rewards or isinstance(value["reward"], bool):
        raise ResultError(
            f"{where}: the reward of an episode with the ending {value['ending']} is {value['reward']!r}; expected one of {rewards}"
        )
    return Record(**value)


class EpisodesFile:
    """The episodes file of a run. Each episode is written when it ends, so that an interrupted run can be resumed.

    Raises ResultError if the file belongs to another run; it stays unchanged.
    """

    def __init__(self, path: Path, header: Mapping[str, Any]) -> None:
        self.path = path
        self.records: dict[tuple[str, int], Record] = {}
        if path.exists() and path.stat().st_size:
            file_header, records = read_episodes(path)
            if file_header != header:
                raise ResultError(
                    f"{path} is of another run: {_describe_difference(file_header, header)}; pass another --out, or --fresh to overwrite it"
                )
            self.records = {record.key: record for record in records}
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = [header, *map(asdict, self.records.values())]  # drops an incomplete last line
        _write(path, "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))

    def add(self, record: Record) -> None:
        """Append the record of an episode; it replaces an earlier record of the same trial."""
        self.records[record.key] = record
        with writing(self.path), self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(record), ensure_ascii=False) + "\n")


def _describe_difference(file_header: Mapping[str, Any], header: Mapping[str, Any], prefix: str = "") -> str:
    """Return a description of the first difference between two unequal headers; `prefix` is the path of nested keys."""
    key = min(key for key in {*file_header, *header} if file_header.get(key) != header.get(key))
    before, now = file_header.get(key), header.get(key)
    if isinstance(before, dict) and isinstance(now, dict):
        return _describe_difference(before, now, f"{prefix}{key}.")
    if (prefix, key) == ("agent.", "digest"):
        return "the agent's file has changed since"
    return f"its {prefix}{key} is {shorten_json(before)}, this run has {shorten_json(now)}"


def read_episodes(path: Path) -> tuple[dict[str, Any], list[Record]]:
    """Return the header and the records of an episodes file, the last one of each trial.

    An incomplete last line, as after an interruption, is ignored. A failed episode may have a later record of the same trial. Raises
    ResultError for an unreadable or malformed file, and for a later record after a judged one.
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
            if number == len(lines):  # complete lines end with a line break, so this one is incomplete
                break
            raise ResultError(f"{path}, line {number} is not valid JSON: {error}") from error
    if not values or not isinstance(values[0][1], dict) or values[0][1].get("format") != FORMAT:
        raise ResultError(f"the first line of {path} is not the header of a run, a JSON object with format={FORMAT}")
    records: dict[tuple[str, int], Record] = {}
    for where, value in values[1:]:
        record = parse_record(value, where)
        if (earlier := records.get(record.key)) is not None and earlier.is_judged:
            raise ResultError(
                f"{where}: {record.task_id}, repeat {record.repeat}, has an earlier judged record; expected one judged episode"
            )
        records[record.key] = record
    return values[0][1], list(records.values())


def write_result(path: Path, result: Result) -> None:
    """Write the results of a run atomically. Raises ResultError."""
    _write(path, json.dumps(result, indent=1, ensure_ascii=False) + "\n")


def read_result(path: Path) -> dict[str, Any]:
    """Return the results of a run from their file. Raises ResultError."""
    try:
        result = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ResultError(f"cannot read the result file {path}: {reason_of(error)}") from error
    if not isinstance(result, dict) or result.get("format") != FORMAT:
        raise ResultError(f"{path} is not a result file; expected a JSON object with format={FORMAT}")
    return result


def summarise(header: Mapping[str, Any], records: Iterable[Record], command: Sequence[str] = ()) -> dict[str, Any]:
    """Return the results of a run: its header, and statistics of its episodes.

    All rates have 95 % intervals. Failed episodes are counted in `failed`, by cause in `failures`, and excluded from all statistics.

    - `success`: success rate of all judged episodes; null if none was judged.
    - `by_site`, `by_check`, `by_difficulty`: success rates of groups. An episode of a hard task counts in each kind of its difficulty.
    - `pass@k`, `pass^k`: means over tasks.
    - `injected`: number of episodes that followed an instruction of a hostile page.
    - `spl`: success weighted by path length (Anderson et al. 2018, section 4.2), the reward times R / max(R, steps), with R the steps of
      the reference solution.
    - `within_reference`: share of episodes with success in at most 1.0, 1.5 and 3.0 times the steps of the reference solution. Like
      `spl`, it is over episodes with known steps and a reference solution, and null without any.
    - `steps`, `seconds`, `agent_seconds`, `prompt_tokens`, `completion_tokens`, `cost`: mean, median and total per episode.
    - `action_errors`: rate of rejected actions per step.

    Args:
        header: header of the run.
        records: records of its episodes, in any order.
        command: command line of the run, which is stored with the results.

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
    difficulty = {kind: _score(group) | {"within_reference": _within(group)} for kind, group in sorted(kinds.items())}
    with_steps = [record for record in judged if record.has_steps]
    with_reference = [record for record in with_steps if record.reference_steps]
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
        **(mean_pass_rates(_rewards(judged)) if judged else {}),
        **{name: {part: _score(group) for part, group in sorted(groups.items())} for name, groups in parts.items()},
        **({"by_difficulty": difficulty} if difficulty else {}),
        **({"injected": sum(is_injected(record.verdicts) for record in judged)} if "hostile" in kinds else {}),
        "spl": _score(with_reference, spl_weight) if with_reference else None,
        "within_reference": _within(judged),
        "endings": dict(Counter(record.ending for record in judged).most_common()),
        "steps": _spread([float(len(record.steps)) for record in with_steps]),
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
    """Return the SHA-256 of the records, in any order, without `step_seconds`."""
    values = [asdict(record) for record in records]
    for value in values:
        del value["step_seconds"]
    return hashlib.sha256("\n".join(sorted(json.dumps(value, sort_keys=True) for value in values)).encode()).hexdigest()


def table(result: Result) -> str:
    """Return the results as a text table."""
    lines = []
    if result["success"] is not None:
        parts = [(title, result.get(key, {})) for title, key in _PARTS]
        within = {f"{factor} x": score for factor, score in (result["within_reference"] or {}).items()}
        parts.insert(0, ("within the steps of the reference solution", within))
        width = max(20, *(len(name) + 2 for _, scores in parts for name in scores))
        lines += [_line("all", width, result["success"]), SCORE_COLUMNS]
        for title, scores in parts:
            lines += [title] * bool(scores) + [_line(f"  {name}", width, score) for name, score in scores.items()]
        if "injected" in result:
            lines.append(f"{result['injected']} episodes followed an instruction of a hostile page")
        if result["spl"]:
            lines.append(f"{'SPL':<{width}} {100 * result['spl']['success']:5.1f} %   success weighted by path length")
        if result["repeats"] > 1:
            lines += [
                f"{name.replace('k', k):<{width}} {100 * value:5.1f} %"
                for name in ("pass@k", "pass^k")
                for k, value in result[name].items()
            ]
        units = (
            ("steps", "steps"),
            ("seconds", "s"),
            ("prompt_tokens", "prompt tokens"),
            ("completion_tokens", "completion tokens"),
        )
        means = [f"{result[name]['mean']:.4g} {unit}" for name, unit in units if result[name]]
        cost = result["cost"]
        lines.append(f"mean per episode: {', '.join(means)}" + (f"; total cost: {cost['total']:.4g}" if cost else ""))
        errors = result["action_errors"]
        if errors and errors["total"]:
            lines.append(f"{errors['total']:.0f} of {errors['n']} actions were rejected; see action_error in the episodes")
    if result["failed"]:
        lines.append(f"{result['failed']} of {result['planned']} episodes failed, and are excluded from all statistics:")
        lines += [f"  {count} x {failure}" for failure, count in result["failures"].items()]
    remaining = result["planned"] - result["judged"] - result["failed"]
    if remaining:
        lines.append(f"{remaining} of {result['planned']} episodes were not played")
    if result["success"] is None:
        lines.append("no episode was judged, so there is no success rate")
    return "\n".join(lines)


@dataclass(frozen=True, kw_only=True)
class EvaluationReport:
    """Scores and episodes of a run. Its text is the table of the scores.

    Attributes:
        result: all results as JSON, as `summarise` returns and documents them.
        episodes: record of each episode that ended.
        abort_reason: reason for which the run was aborted early, or "".

    """

    result: Result
    episodes: Sequence[Record]
    abort_reason: str = ""

    def __str__(self) -> str:
        return table(self.result)

    @property
    def num_planned(self) -> int:
        """Number of planned episodes."""
        return int(self.result["planned"])

    @property
    def num_judged(self) -> int:
        """Number of episodes with a reward. Only they count in the scores."""
        return int(self.result["judged"])

    @property
    def num_failed(self) -> int:
        """Number of episodes without a reward, because of an infrastructure error."""
        return int(self.result["failed"])

    @property
    def success(self) -> Score | None:
        """Success rate of the judged episodes; None without any."""
        return Score(**self.result["success"]) if self.result["success"] else None

    @property
    def by_site(self) -> dict[str, Score]:
        """Success rates of the tasks of each site."""
        return {site: Score(**score) for site, score in self.result["by_site"].items()}


def _line(name: str, width: int, score: Mapping[str, Any]) -> str:
    within = score.get("within_reference") or {}
    parts = [f"{100 * share['success']:.1f} % within {factor} x" for factor, share in within.items()]
    return "; ".join([score_line(name, **{key: score[key] for key in Score._fields}, width=width), *parts])


def _score(records: Iterable[Record], weight: Callable[[Record], float] = lambda _: 1.0) -> dict[str, Any]:
    return clustered_score(_rewards(records, weight))._asdict()


def _rewards(records: Iterable[Record], weight: Callable[[Record], float] = lambda _: 1.0) -> dict[str, list[float]]:
    """Return the weighted rewards of judged episodes, by task."""
    rewards: dict[str, list[float]] = defaultdict(list)
    for record in records:
        if record.reward is not None:
            rewards[record.task_id].append(record.reward * weight(record))
    return rewards


def _within(records: Iterable[Record]) -> dict[str, dict[str, float]] | None:
    """Return the success rates within multiples of the reference steps; None without episodes with steps and a reference solution."""
    comparable = [record for record in records if record.has_steps and record.reference_steps]
    if not comparable:
        return None

    def share(factor: float) -> dict[str, float]:
        return _score(comparable, lambda record: len(record.steps) <= factor * (record.reference_steps or 0))

    return {str(factor): share(factor) for factor in _STEP_FACTORS}


def _spread(values: Sequence[float]) -> dict[str, float] | None:
    if not values:
        return None
    return {"mean": fmean(values), "median": median(values), "total": sum(values), "n": len(values)}


def _write(path: Path, content: str) -> None:
    """Write a file atomically. Raises ResultError."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(path.name + ".part")
        part.write_text(content, encoding="utf-8")
        part.replace(path)
    except OSError as error:
        raise ResultError(f"cannot write {path}: {reason_of(error)}") from error


def shorten_json(value: object) -> str:
    """Return a value as JSON for a message, truncated after 300 characters."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 300 else f"{text[:300]}..."
