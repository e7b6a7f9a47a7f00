"""Command lines made from settings: the parser that turns a dataclass into options with tyro, their help, and types of options."""

import gc
import io
import json
import os
import re
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr
from dataclasses import MISSING, field, fields, make_dataclass
from inspect import cleandoc, isfunction
from pathlib import Path
from shutil import get_terminal_size
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NoReturn, TypeVar, Union, get_args, get_origin, get_type_hints

import tyro

from webarena_gym.arguments import field_descriptions, quote_value, suggestion
from webarena_gym.console import BAD_INPUT, decimal, existing_path, integer, print_error, writable_path
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
    "application": "APPLICATION", "cluster": "ADDRESS", "episodes": "FILE", "keywords": "NAME=JSON", "members": "MODEL", "model": "MODEL", "models": "MODEL",
    "policy": "MODEL", "split": "NAME", "suite": "NAME", "tasks": "TASK", "templates": "NAME", "vllm": "URL",
}  # fmt: skip
"""Names of the values of text options in the help."""
_RANGE = re.compile(r"\d+(?:(?:-|:|,|\.\.+)\d+)+,?")  # several numbers in one word
_MAX_UNGROUPED = 12  # maximum number of options in a help without groups
_MAX_COLUMNS = 100  # width of a help
Templates = Annotated[tuple[str, ...], tyro.conf.arg(aliases=("--template",))]
"""Type of an option with template names. Its alias is the option --template of `webarena-gym`."""
PresentFile = Annotated[Path, existing_path("file")]
"""Type of an option with the path of an existing file; `parse_settings` rejects other paths."""
PresentFolder = Annotated[Path, existing_path("folder")]
NewFile = Annotated[Path, writable_path("file")]
"""Type of an option with the path of a file to write."""
NewFolder = Annotated[Path, writable_path("folder")]
Processes = Annotated[int, tyro.conf.arg(aliases=("--jobs",))]
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


ChatTemplateKwargs = Annotated[
    Mapping[str, Any] | None,
    tyro.constructors.PrimitiveConstructorSpec(
        nargs=1,
        metavar="JSON",
        instance_from_str=lambda words: json_object(words[0]),
        is_instance=lambda value: value is None or isinstance(value, Mapping),
        str_from_instance=lambda value: [json.dumps(value)],
    ),
    json_object,
]
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

    """
    all_fields = fields(kind)  # type: ignore[arg-type]
    values = {item.name: tyro.MISSING for item in all_fields if item.default is MISSING}
    values |= {item.name: defaults[item.name] for item in all_fields if defaults and item.name in defaults}
    box = io.StringIO()
    try:
        if {"-h", "--help"} & {*arguments}:
            _show_help(kind, values, f"{program} {usage}".rstrip(), hidden, note, default_hints or {}, special_groups or {})
        else:
            hints = get_type_hints(kind, include_extras=True)
            _check_arguments(hints, arguments, f"see python -m {program} --help", refused or {})
        with redirect_stderr(box):
            return tyro.cli(kind, args=list(arguments), default=kind(**values), prog=f"python -m {program}")
    except ArgumentTypeError as error:
        print_error(f"python -m {program}", error)
        raise SystemExit(BAD_INPUT) from error
    except SystemExit as end:
        if end.code:
            message = _in_one_line(box.getvalue())
            if message.startswith("Missing from"):
                option_names = {argument.partition("=")[0].replace("_", "-") for argument in arguments}
                required_names = [f"--{name.replace('_', '-')}" for name, value in values.items() if value is tyro.MISSING]
                missing_names = ", ".join(name for name in required_names if name not in option_names)
                message = f"the following options are required: {missing_names}; see python -m {program} --help"
            message = name_options(message, kind)
            if without_value := re.match(r"Missing value for argument '(--[\w-]+)'", message):
                message = f"{without_value[1]} has no value; expected one"
            print_error(f"python -m {program}", message)
        raise


def _show_help(
    kind: type[Any],
    values: Mapping[str, Any],
    program: str,
    hidden: Collection[str],
    note: str,
    default_hints: Mapping[str, str],
    special_groups: Mapping[str, tuple[str, str]],
) -> NoReturn:
    """Print the help of a command, with grouped options and examples, and exit.

    `values` are the defaults that differ. `program` is the module, and further words of the usage.
    """
    paragraphs = (cleandoc(kind.__doc__ or "") + note).split("\n\n")
    title = "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)  # the terminal wraps the lines
    groups = group_options(kind, hidden, special_groups)
    hints = get_type_hints(kind, include_extras=True)
    required = [
        f"--{name.replace('_', '-')} {value_name(name, hints[name])}"
        for names in groups.values()
        for name in names
        if values.get(name) is tyro.MISSING
    ]

    def make_help_type(text: str, names: Sequence[str]) -> Any:
        return _help_type(kind, text, names, values, default_hints)

    if sum(map(len, groups.values())) <= _MAX_UNGROUPED:
        help_type = make_help_type(title, [name for names in groups.values() for name in names])
    else:
        parts: list[tuple[str, Any, Any]] = []
        for number, (group, names) in enumerate(groups.items()):
            group_title = special_groups[group][0] if group in special_groups else group_description(group)
            group_type, config = make_help_type(group_title, names), tyro.conf.arg(name=group)
            parts.append((f"group_{number}", Annotated[group_type, tyro.conf.OmitArgPrefixes, config], field()))
        help_type = make_dataclass(kind.__name__, parts, frozen=True, kw_only=True, namespace={"__doc__": title})
    columns = os.environ.get("COLUMNS", "")
    # On wide terminals, tyro arranges the groups in columns, and the first group is not at the top.
    os.environ["COLUMNS"] = str(min(get_terminal_size().columns, _MAX_COLUMNS))
    try:
        tyro.cli(help_type, args=["--help"], prog=" ".join([f"python -m {program}", *required]))
    except SystemExit:
        name = program.partition(" ")[0]
        if examples := EXAMPLES.get(name):
            print("\n  ".join(["\nexamples:", *(f"python -m {name} {example}".rstrip() for example in examples)]))
    finally:
        os.environ["COLUMNS"] = columns  # an empty value is ignored
    raise SystemExit


def group_options(
    kind: type[Any], hidden: Collection[str] = (), special_groups: Mapping[str, tuple[str, str]] | None = None
) -> dict[str, list[str]]:
    """Return the names of a command's options, without `hidden` ones, by their group in GROUPS, then by those of `special_groups`.

    The group "method" has the options of no other group.
    """
    special_groups = special_groups or {}
    hints = get_type_hints(kind, include_extras=True)
    ungrouped = [
        item.name
        for item in fields(kind)
        if item.name not in hidden and tyro.conf.Suppress not in getattr(hints[item.name], "__metadata__", ())
    ]
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


def _help_type(
    kind: type[Any],
    title: str,
    names: Sequence[str],
    values: Mapping[str, Any],
    default_hints: Mapping[str, str],
) -> Any:
    """Return a dataclass of the options `names` for the help, with their descriptions and defaults."""
    hints, descriptions = get_type_hints(kind, include_extras=True), setting_descriptions(kind)
    defaults: dict[str, Any] = {item.name: item.default for item in fields(kind)} | {**values}
    options = []
    for name in names:
        default = defaults[name]
        hint = f"(default: {default_hints[name]})" if name in default_hints else _default_hint(default)
        text = descriptions.get(name)
        if hint == "" and text:  # tyro adds a space and the hint
            text, _, hint = text.rpartition(" ")
        config: Any = tyro.conf.arg(help=text, help_behavior_hint=hint, metavar=value_name(name, hints[name]), aliases=())
        default = MISSING if default is tyro.MISSING else default
        options.append((name, Annotated[hints[name], config], field(default=default)))
    return make_dataclass(kind.__name__, options, frozen=True, kw_only=True, namespace={"__doc__": title})


def format_default(value: object) -> str:
    """Return a default for the help. Of consecutive integers, only the first two and the last are shown."""
    if isinstance(value, tuple):
        if len(value) > 3 and all(isinstance(item, int) for item in value) and value == tuple(range(value[0], value[-1] + 1)):
            return f"{value[0]} {value[1]} ... {value[-1]}"
        return " ".join(map(str, value))
    return str(value)


def _default_hint(default: object) -> str | None:
    """Return the text of a default in the help: "" if nothing is set by default, and None for tyro's own text."""
    if default is None or default in ((), ""):
        return ""
    return f"(default: {format_default(default)})" if isinstance(default, tuple) else None


def value_name(name: str, hint: Any) -> str | None:
    """Return the name of an option's value in the help: N for an integer, X for another number; None for that of tyro or of its type."""
    metadata: list[Any] = []
    while get_origin(hint) is Annotated:
        metadata, hint = [*metadata, *hint.__metadata__], get_args(hint)[0]
    if any(getattr(item, "metavar", None) for item in metadata):
        return None
    if get_origin(hint) is tuple:
        value = value_name(name, get_args(hint)[0])
        return f"{value} ..." if value else None
    if get_origin(hint) in (Union, UnionType):
        values = {value_name(name, item) for item in get_args(hint) if item is not NoneType}
        return values.pop() if len(values) == 1 else None
    if get_origin(hint) is Literal:
        return "{" + ",".join(map(str, get_args(hint))) + "}"
    if hint is Path:
        return "FILE" if {get_args(PresentFile)[1], get_args(NewFile)[1]} & {*metadata} else "FOLDER"
    return {str: _TEXT_METAVARS.get(name, "TEXT"), int: "N", float: "X"}.get(hint)


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


def _check_arguments(hints: Mapping[str, Any], arguments: Sequence[str], advice: str, refused: Mapping[str, str]) -> None:
    """Raise ArgumentTypeError for an unknown option or an invalid value, with the same messages as all commands of the project.

    Args:
        hints: Types of the settings by name.
        arguments: The command line.
        advice: Text for an unknown option without a similar name.
        refused: Ends of the messages for options that the command does not have.

    """
    readers: dict[str, Callable[[str], object] | None] = {}
    for name, hint in hints.items():
        config = next((item for item in getattr(hint, "__metadata__", ()) if hasattr(item, "aliases")), None)
        names = [f"--{getattr(config, 'name', None) or name}", f"--no-{name}", *(getattr(config, "aliases", None) or ())]
        readers |= dict.fromkeys([alias.replace("_", "-") for alias in names], _reader(hint))
    option, read = "", None
    for word in arguments:
        value: str | None = word
        if word.startswith("--"):
            option, has_value, value = word.partition("=")
            name = option.replace("_", "-")
            if name not in readers:
                if name in refused:
                    raise ArgumentTypeError(f"{name} {refused[name]}")
                hint = suggestion(name, [item for item in readers if not item.startswith("--no-")], list_all=False)
                raise ArgumentTypeError(f"{quote_value(word)} is not understood; {hint or advice}")
            read, value = readers[name], value if has_value else None
        if read is not None and value is not None:
            try:
                read(value)
            except ArgumentTypeError as error:
                raise ArgumentTypeError(f"{option} {error}") from error


def _reader(hint: Any) -> Callable[[str], object] | None:
    """Return the parser of one value of an option of this type, or None if any text is valid. It raises ArgumentTypeError."""
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
    if not checks and number is None and (types or not choices):
        return None

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
        if text not in choices:
            raise ArgumentTypeError(f"is {quote_value(text)}; {suggestion(text, choices)}")
        return text

    return read


def _in_one_line(box: str) -> str:
    r"""Return tyro's error message with its suggestions, without the frame and the help of the option.

    >>> _in_one_line("╭─ Error ──╮\n│ No --a   │\n│ ──────── │\n│ See help │\n╰──────────╯")
    'No --a'
    """
    has_frame = "╭" in box  # without Unicode, the title is a separate paragraph
    lines = [line.strip("│ ") for line in box.splitlines() if line[:1] not in ("╭", "╰")]
    parts = " ".join(line if line.strip("─-") else "\n" * bool(line) for line in lines).split("\n")[0 if has_frame else 1 :]
    message = "; ".join(part.strip() for number, part in enumerate(parts) if not number or "you meant" in part)
    return re.sub(r"^Error parsing \w+: ", "", message)  # of a ValueError that the dataclass raises


def option_value(arguments: Sequence[str], option: str) -> str | None:
    """Return the value of one option on a command line, or None. Some options set the defaults of others before parsing.

    >>> option_value(["--seed", "1", "--model=runs/bc"], "--model")
    'runs/bc'
    """
    parser = ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument(option, dest="value")
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
