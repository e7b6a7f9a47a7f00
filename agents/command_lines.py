"""Command lines made from settings: the parser whose options are the fields of a dataclass, its help, and types of options."""

import gc
import json
import re
from argparse import SUPPRESS, ArgumentParser, ArgumentTypeError, BooleanOptionalAction
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, fields
from inspect import cleandoc, isfunction
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from webarena_gym.arguments import field_descriptions, quote_value, suggestion
from webarena_gym.console import Parser, decimal, existing_path, integer, writable_path
from webarena_gym.options import option_descriptions

S = TypeVar("S")

EXAMPLES: Mapping[str, tuple[str, ...]] = {
    "agents.agent_q": ("--model agents/checkpoints/cloned-1 --out runs/q --iterations 2",),
    "agents.average": ("--models runs/content runs/layout --out runs/mean",),
    "agents.demo": ("", "--templates shopping.wish_list_add --bc-updates 200"),
    "agents.demonstrations": ("--out episodes.jsonl --worlds 11 12 --window 2000 --tool-calls", "--out demos.jsonl --worlds 11 12 --system act"),
    "agents.ensemble": ("--members runs/a runs/b --out runs/ensemble",),
    "agents.evaluate": ("--policy agents/checkpoints/starter --split test --max-steps 30", "--policy chat:MODEL --limit 20 --save runs/played.jsonl"),
    "agents.integrations.verl": ("--out train.jsonl --split train",),
    "agents.remember": ("--model runs/bc --out runs/with-memory", "--model runs/bc --walk 600 --worlds 7 --out runs/explored"),
    "agents.search": ("--policy agents/checkpoints/starter --method best_of_n --budget 60 --limit 20",),
    "agents.train_bc": ("--model HuggingFaceTB/SmolLM2-360M-Instruct --out runs/bc-360m --window 2000 --lora-rank 16 --updates 100", "--model pointer --out runs/bc --worlds 11 12 13 14 --one-world-each --updates 1200"),
    "agents.train_eyes": ("--out runs/eyes --updates 30",),
    "agents.train_grpo": ("--model Qwen/Qwen2.5-1.5B-Instruct --out runs/qwen --system env --window 6000 --max-prompt-tokens 8192 --max-new-tokens 256 --dtype bfloat16 --gradient-checkpointing --lora-rank 16", "--model agents/checkpoints/cloned-1 --out runs/grpo --worlds 41 42 43 --max-steps 15 --updates 50",),
    "agents.train_rl": ("--method awr --model agents/checkpoints/cloned-1 --out runs/awr --worlds 41 42 43 --updates 50",),
    "agents.train_sb3": ("--out runs/sb3 --templates shopping.wish_list_add --updates 20",),
    "agents.workflows": ("--episodes runs/played.jsonl --out runs/workflows.json",),
    "benchmarks.allocation": ("--quick --json",),
    "benchmarks.compare": ("searches --agents runs/bc --limit 20 --json",),
    "benchmarks.coverage": ("--json",),
    "benchmarks.learning": ("--quick --json", "--clones 3 --seeds 0 --grpo-updates 50 100"),
    "benchmarks.methods": ("--quick --methods mgrpo awr --json",),
    "benchmarks.vision": ("--methods grpo mentor --json",),
}  # fmt: skip
"""Arguments of the examples at the end of each command's help."""
GROUPS: Mapping[str, tuple[str, str]] = {
    "start": (
        "Start with these.",
        "policy model members models episodes out worlds updates max_steps split limit group_size tasks_per_update learning_rate "
        "lora_rank",
    ),
    "task": (
        "Tasks and their worlds.",
        "application suite variation per_template templates demonstrations layout_worlds one_world_each allow_held_out_worlds world_seed "
        "fresh_worlds tasks test_world test_worlds shown evaluated worlds split limit",
    ),
    "prompt": (
        "Observation and prompt of the agent.",
        "elements history thoughts window system chat_template_kwargs max_prompt_tokens keywords contexts memory reads",
    ),
    "rollout": (
        "Episodes and their sampling.",
        "temperature step_limits dynamic_sampling processes num_envs max_new_tokens constrained vllm "
        "seek_mixed groups_remembered replayed replay fork_every workers steps_per_update candidates trace detours mistakes dagger max_steps",
    ),
    "optimizer": (
        "Updates of the parameters.",
        "epochs minibatches schedule max_grad_norm average weight_decay optimizer tokens_per_update decisions_per_update dropout batch "
        "curriculum curriculum_power copy_weight thinned focus",
    ),
    "computation": ("Precision, memory and adapters.", "dtype gradient_checkpointing tokens_per_pass sharing lora_layers"),
    "loss": (
        "Advantages and loss.",
        "advantages weighting clip_low clip_high ratio old_logprobs kl_weight distilled correction discount entropy_weight",
    ),
    "run": (
        "Length, checkpoints and output.",
        "begin_with minutes cpu_minutes env_steps save_every save_samples save_rollouts threads seed save json "
        "model out updates",
    ),
    "cluster": (
        "Asynchronous and distributed rollouts.",
        "staleness overlap cluster learners learner_restarts env_workers env_resource gpus",
    ),
}
"""Groups of options in the help, each with a description and field names. An option belongs to the first group that lists it."""
_TEXT_METAVARS = {
    "application": "APPLICATION", "chat_template_kwargs": "JSON", "cluster": "ADDRESS", "episodes": "FILE", "keywords": "NAME=JSON", "members": "MODEL", "model": "MODEL", "models": "MODEL",
    "policy": "MODEL", "split": "NAME", "suite": "NAME", "tasks": "TASK", "templates": "NAME", "vllm": "URL",
}  # fmt: skip
"""Names of the values of text options in the help."""
_RANGE = re.compile(r"\d+(?:(?:-|:|,|\.\.+)\d+)+,?")  # several numbers in one word
_MAX_UNGROUPED = 12  # maximum number of options in a help without groups


@dataclass(frozen=True)
class Option:
    """Metadata of the type of a setting: how it is written on the command line, if not by the name of its field.

    Attributes:
        name: Name of the option without dashes; None for that of the field, "" for a setting that only programs can set.
        aliases: Further names, with dashes.
        is_repeated: True if each use of the option adds one value to a tuple.

    """

    name: str | None = None
    aliases: Sequence[str] = ()
    is_repeated: bool = False


Templates = Annotated[tuple[str, ...], Option(aliases=("--template",))]
"""Type of an option with template names. Its alias is the option --template of `webarena-gym`."""
PresentFile = Annotated[Path, existing_path("file")]
"""Type of an option with the path of an existing file; `parse_settings` rejects other paths."""
PresentFolder = Annotated[Path, existing_path("folder")]
NewFile = Annotated[Path, writable_path("file")]
"""Type of an option with the path of a file to write."""
NewFolder = Annotated[Path, writable_path("folder")]
Processes = Annotated[int, Option(aliases=("--jobs",))]
"""Type of an option with the number of processes that play episodes. Its alias is the option --jobs of `webarena-gym`."""


def json_object(text: str) -> dict[str, Any] | None:
    """Return the JSON object in a command-line argument, or None for "None". Raises ArgumentTypeError for any other text.

    >>> json_object('{"enable_thinking": false}')
    {'enable_thinking': False}
    """
    try:
        value = None if text == "None" else json.loads(text)
    except ValueError:
        value = text
    if value is not None and not isinstance(value, dict):
        raise ArgumentTypeError(f'is {quote_value(text)}; expected a JSON object, such as {{"enable_thinking": false}}')
    return value


ChatTemplateKwargs = Annotated[Mapping[str, Any] | None, json_object]
"""Type of the option `chat_template_kwargs`: variables of the model's chat template, as a JSON object."""


def parse_settings(
    kind: type[S], arguments: Sequence[str], defaults: Mapping[str, Any] | None = None, *, program: str,
    hidden: Collection[str] = (), note: str = "", default_hints: Mapping[str, str] | None = None,
    special_groups: Mapping[str, tuple[str, str]] | None = None, usage: str = "", refused: Mapping[str, str] | None = None,
) -> S:  # fmt: skip
    """Parse the command line of `python -m PROGRAM` into settings.

    Args:
        kind: Dataclass of the settings.
        arguments: The command line, without the program.
        defaults: Defaults by name, which take precedence over the defaults of the dataclass. Other names are ignored.
        program: Name of the module, for help and errors.
        hidden: Names of options that the help does not show.
        note: Text of the help after the description of the settings.
        default_hints: Texts of the help in place of a default, by name, for defaults that depend on the model.
        special_groups: Groups in the form of `GROUPS` that come last in the help and precede `GROUPS` in the choice of a group.
        usage: Option of the program that is not a setting, for the first line of the help.
        refused: Ends of the error messages for options that the command does not have, by option, such as "is for language models only".

    Raises:
        SystemExit: The command line contains an error, which is printed as one line, or --help, which prints the help.
        ValueError: The settings contradict each other, or a value is out of its range; the message names options.

    """
    all_fields = fields(kind)  # type: ignore[arg-type]
    values = {item.name: item.default for item in all_fields}
    values |= {name: value for name, value in (defaults or {}).items() if name in values}
    hints, groups = get_type_hints(kind, include_extras=True), group_options(kind, hidden, special_groups)
    required = [
        f"--{name.replace('_', '-')} {value_name(name, hints[name])}"
        for names in groups.values()
        for name in names
        if values[name] is MISSING
    ]
    paragraphs = (cleandoc(kind.__doc__ or "") + note).split("\n\n")
    parser = Parser(
        prog=f"python -m {program}",
        usage=" ".join(["%(prog)s", *usage.split(), *required, "[-h] [OPTIONS]"]),
        description="\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs),  # the terminal wraps the lines
        examples=EXAMPLES.get(program, ()),
        refused=refused or {},
    )
    texts = {
        name: f"{text} {_default_text(values[name], (default_hints or {}).get(name))}".strip().replace("%", "%%")
        for name, text in setting_descriptions(kind).items()
        if name in values
    }
    has_groups = sum(map(len, groups.values())) > _MAX_UNGROUPED
    for group, names in groups.items():
        title = (special_groups or {}).get(group, ("",))[0] or group_description(group)
        container = parser.add_argument_group(f"{group} options", title) if has_groups else parser
        for name in names:
            _add_option(container, name, hints[name], texts.get(name, ""), is_required=values[name] is MISSING)
    grouped = {name for names in groups.values() for name in names}
    for name in values:
        if name not in grouped and not _is_internal(hints[name]):
            _add_option(parser, name, hints[name], SUPPRESS, is_required=values[name] is MISSING)
    if {"-h", "--help"} & {*arguments}:
        arguments = ["--help"]  # also where another argument is missing or wrong
    words = [re.sub(r"^--[^=]+", lambda match: match[0].replace("_", "-"), word) for word in arguments]
    options = {
        name: tuple(value) if isinstance(value, list) else value for name, value in vars(parser.parse_args(words)).items()
    }
    with errors_name_options(kind):
        return kind(**{**values, **options})


def _add_option(container: Any, name: str, hint: object, text: str, *, is_required: bool) -> None:
    """Add the option of one setting to a parser or group. Without the option, the namespace has no value."""
    config = _config(hint)
    settings: dict[str, Any] = {"dest": name, "default": SUPPRESS, "help": text}
    if _plain_type(hint) is bool:
        settings["action"] = BooleanOptionalAction
    else:
        settings |= {"type": _reader(hint), "metavar": value_name(name, hint), "required": is_required}
        if config.is_repeated:
            settings["action"] = "append"
        elif get_origin(_plain_type(hint)) is tuple:
            settings["nargs"] = "*"
        settings["metavar"] = str(settings["metavar"]).removesuffix(" ...")
    container.add_argument(f"--{(config.name or name).replace('_', '-')}", *config.aliases, **settings)


def _config(hint: object) -> Option:
    """Return how a setting of this type is written on the command line."""
    return next((item for item in getattr(hint, "__metadata__", ()) if isinstance(item, Option)), Option())


def _is_internal(hint: object) -> bool:
    """Return True for a setting that only programs can set."""
    return _config(hint).name == ""


def _plain_type(hint: object) -> object:
    """Return a type without metadata."""
    while get_origin(hint) is Annotated:
        hint = get_args(hint)[0]
    return hint


def _default_text(value: object, hint: str | None) -> str:
    """Return the text of a default in the help: "" if nothing is set by default, and for required options."""
    if hint is not None:
        return f"(default: {hint})"
    return "" if value in (None, (), "", MISSING) else f"(default: {format_default(value)})"


def group_options(
    kind: type[Any], hidden: Collection[str] = (), special_groups: Mapping[str, tuple[str, str]] | None = None
) -> dict[str, list[str]]:
    """Return the names of a command's options, without `hidden` ones, by their group in GROUPS, then by those of `special_groups`.

    The group "method" has the options of no other group.
    """
    special_groups = special_groups or {}
    hints = get_type_hints(kind, include_extras=True)
    ungrouped = [item.name for item in fields(kind) if item.name not in hidden and not _is_internal(hints[item.name])]
    groups: dict[str, list[str]] = {}
    for group, (_, field_names) in {**special_groups, **GROUPS}.items():
        names = [name for name in field_names.split() if name in ungrouped]
        if group == "start" and "policy" not in names:  # in training, only suites have splits
            names = [name for name in names if name not in ("split", "limit")]
        ungrouped = [name for name in ungrouped if name not in names]
        groups[group] = names
    order = [*GROUPS, "method", *special_groups]
    groups["method"] = ungrouped
    return {group: groups[group] for group in order if groups[group]}


def group_description(group: str) -> str:
    """Return the title of a group of options."""
    return GROUPS[group][0] if group in GROUPS else "Other options."


def setting_descriptions(kind: Any) -> dict[str, str]:
    """Return the description of each option of a command: that of the env's keyword, unless the command has its own.

    References to other fields, in backticks, become options.
    """
    short = {name: option_descriptions()[name].partition(". ")[0].partition("; ")[0] for name in option_descriptions()}
    names = {item.name for item in fields(kind)}

    def option(match: re.Match[str]) -> str:
        return f"`--{match[1].replace('_', '-')}`" if match[1] in names else match[0]

    return {name: re.sub(r"`(\w+)`", option, text) for name, text in (short | dict(field_descriptions(kind))).items()}


def format_default(value: object) -> str:
    """Return a default for the help. Of consecutive integers, only the first two and the last are shown."""
    if isinstance(value, tuple):
        if len(value) > 3 and all(isinstance(item, int) for item in value) and value == tuple(range(value[0], value[-1] + 1)):
            return f"{value[0]} {value[1]} ... {value[-1]}"
        return " ".join(map(str, value))
    return str(value)


def value_name(name: str, hint: Any) -> str | None:
    """Return the name of an option's value in the help: N for an integer, X for another number; None for an option without a value."""
    metadata: list[Any] = []
    while get_origin(hint) is Annotated:
        metadata, hint = [*metadata, *hint.__metadata__], get_args(hint)[0]
    if get_origin(hint) is tuple:
        value = value_name(name, get_args(hint)[0])
        return f"{value} ..." if value else None
    if get_origin(hint) in (Union, UnionType):
        choices = [choice for item in get_args(hint) if get_origin(item) is Literal for choice in get_args(item)]
        return value_name(name, Literal[tuple(choices)] if choices else get_args(hint)[0])
    if get_origin(hint) is Literal:
        return "{" + ",".join(map(str, get_args(hint))) + "}"
    if hint is Path:
        return "FILE" if {get_args(PresentFile)[1], get_args(NewFile)[1]} & {*metadata} else "FOLDER"
    return {int: "N", float: "X", bool: None}.get(hint, _TEXT_METAVARS.get(name, "TEXT"))


def name_options(message: str, kind: type[Any]) -> str:
    """Return an error message of the settings `kind` with options in place of the names of fields.

    Only the subject of a statement is replaced ("NAME is", "NAME="), and names of several words, which are not words of a sentence.

    >>> from agents.settings import RunSettings
    >>> name_options("save_every is 0; expected at least 1", RunSettings)
    '--save-every is 0; expected at least 1'
    """
    names = sorted((item.name for item in fields(kind)), key=len, reverse=True)
    several = "|".join(name for name in names if "_" in name)
    pattern = rf"(?<![\w.'\"/-])(?:({'|'.join(names)})(?= is |=)|({several}))(?![\w(-])"
    return re.sub(pattern, lambda match: f"--{match[0].replace('_', '-')}", message)


@contextmanager
def errors_name_options(kind: type[Any]) -> Iterator[None]:
    """Replace the names of fields of the settings `kind` by options in ValueErrors that are raised in the block."""
    try:
        yield
    except ValueError as error:
        if len(error.args) == 1 and isinstance(error.args[0], str):
            error.args = (name_options(error.args[0], kind),)
        raise


def _reader(hint: Any) -> Callable[[str], object]:
    """Return the parser of one value of an option of this type. It raises ArgumentTypeError."""
    checks, types, choices, parts = [], set[Any](), list[Any](), [hint]
    while parts:
        part = parts.pop(0)
        if get_origin(part) is Annotated:
            checks += [item for item in part.__metadata__ if isfunction(item)]
            parts.append(get_args(part)[0])
        elif get_origin(part) in (Union, UnionType, tuple):
            parts += [item for item in get_args(part) if item is not Ellipsis]
        elif get_origin(part) is Literal:
            choices += get_args(part)
        else:
            types.add(part)
    is_optional, is_list = NoneType in types, "tuple" in str(hint)
    types.discard(NoneType)
    number = decimal() if float in types else integer() if types == {int} else None

    def read(text: str) -> object:
        if is_optional and text == "None":
            return None
        if checks:
            return checks[0](text)
        if number is not None:
            if is_list and _RANGE.fullmatch(text):
                raise ArgumentTypeError(
                    f"is {quote_value(text)}; separate numbers by spaces: ranges and commas are not supported"
                )
            return number(text)
        if choices and not types and text not in choices:
            raise ArgumentTypeError(f"is {quote_value(text)}; {suggestion(text, choices)}")
        return text

    return read


def option_value(arguments: Sequence[str], option: str) -> str | None:
    """Return the value of one option on a command line, None without it or its value. Some options set the defaults of others before parsing.

    >>> option_value(["--seed", "1", "--model=runs/bc"], "--model")
    'runs/bc'
    """
    parser = ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument(option, dest="value", nargs="?")  # `parse_settings` rejects an option without its value
    value: str | None = parser.parse_known_args(arguments)[0].value
    return value


def trains_adapters(arguments: Sequence[str]) -> bool:
    """Return True if a command line selects adapters instead of all weights with --lora-rank."""
    return (option_value(arguments, "--lora-rank") or option_value(arguments, "--lora_rank") or "0") != "0"


def collect_rarely() -> None:
    """Reduce the frequency of garbage collection in this process, and exclude all current objects. Call it in commands only.

    Caches of pages hold millions of small objects, which every full collection would traverse.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
