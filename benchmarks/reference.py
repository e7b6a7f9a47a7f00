"""Tables of the reference pages: keywords of the env, options of the training commands and logged metrics, with their names in TRL.

`benchmarks.tables` writes them into the documents.
"""

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, fields
from functools import partial
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from agents.command_lines import GROUPS, group_description, group_options, setting_descriptions, value_name
from agents.evaluation.report.curves import metric_definitions
from agents.evaluation.settings import EvaluationSettings, default_hints
from agents.models.checkpoints import UNTRAINED_RECORD
from agents.train_rl import language_model_defaults
from agents.training.settings import (
    GRPO_CONFIG,
    METHODS,
    PRETRAINED,
    PRETRAINED_BC_RATES,
    PRETRAINED_RL_RATES,
    SMALL_MODEL_GROUPS,
    STREAM_OPTIONS,
    BCSettings,
    GRPOSettings,
    PointerBCSettings,
    TrainSettings,
    hidden_from_pointing_networks,
)
from webarena_gym.applications.application import Application
from webarena_gym.arguments import field_descriptions
from webarena_gym.options import EnvOptions, option_descriptions
from webarena_gym.sites.catalogue import Account, Login

Row = Mapping[str, object]
Section = tuple[str, Sequence[Row]]
"""A heading, "" for none, and the rows of the table below it."""

KEYWORDS = {
    "env_tasks": "split tasks world_seed scale variation suite application rules on_unreadable",
    "env_observation": "observation history window max_text header thoughts viewport bbox elements dialect",
    "env_pictures": "window_size pictures picture_format cursor vendor coordinates",
    "env_sites": "browser render_mode sites accounts logins hosts",
    "env_rewards": "max_steps step_budget side_effects reward judge on_failure",
    "env_tools": "tools tool_budget tool_window tool_tag",
}
"""The keywords of the env by table."""

APPLICATION_KEYS = {
    "The application and its start": "name folder wsgi asgi command image image_port volume python loads warm environment inherits ready start_s answer_s",
    "State": "state databases uploads incidental client_state save load drop in_memory",
    "Isolation": "network shared readable hidden limits",
    "Time and scripts": "clock virtual_time shown busy",
    "Tasks and archives": "tasks templates draws exclude",
    "Account": "account login",
}
"""The keys of `webarena-app.toml` by table."""

GRPO_OPTIONS = {
    "model": "`model` of the trainer", "out": "`output_dir`", "updates": "`max_steps`", "max_steps": "`max_tool_calling_iterations`, if a reply has one call",
    "seed": "`seed`", "save_every": "`save_steps`", "group_size": "`num_generations`", "tasks_per_update": "`generation_batch_size` / `num_generations`",
    "epochs": "`num_iterations`", "minibatches": "`steps_per_generation` / `gradient_accumulation_steps`", "temperature": "`temperature`", "learning_rate": "`learning_rate`",
    "schedule": "`lr_scheduler_type`", "max_grad_norm": "`max_grad_norm`", "weight_decay": "`weight_decay`", "clip_low": "`epsilon`",
    "clip_high": "`epsilon_high`", "ratio": "`importance_sampling_level`", "kl_weight": "`beta`", "weighting": "`loss_type`",
    "correction": "`vllm_importance_sampling_mode`", "max_new_tokens": "`max_completion_length`, which counts all replies and pages of an episode", "dtype": "`bf16`",
    "gradient_checkpointing": "`gradient_checkpointing`", "vllm": "`use_vllm`, `vllm_server_base_url`", "tokens_per_pass": "`per_device_train_batch_size`, in samples",
    "chat_template_kwargs": "`chat_template_kwargs`",
    **dict.fromkeys(("application", "suite", "variation", "elements", "window"), "the same keyword of the environment"),
    "lora_rank": "`r` of the `peft_config`", "lora_layers": "`layers_to_transform` of the `peft_config`", "optimizer": "`optim`",
}  # fmt: skip
"""The name of an option in TRL's GRPOConfig."""
SFT_OPTIONS = {
    name: GRPO_OPTIONS[name]
    for name in (
        "model", "out", "updates", "seed", "save_every", "learning_rate", "max_grad_norm", "weight_decay", "optimizer", "dtype",
        "gradient_checkpointing", "lora_rank", "lora_layers", "tokens_per_pass",
    )
} | {"demonstrations": "`train_dataset` of the trainer"}  # fmt: skip
"""The name of an option in TRL's SFTConfig."""

METRICS: Mapping[str, str] = {
    "Every update of reinforcement learning": (
        "update success rollouts failed truncated steps reply_tokens action_errors distinct_prompts reward_deviation reply_entropy "
        "equal_groups lag trained_steps env_steps generated_tokens trained_tokens cpu_minutes rollout_s elapsed_s time_env time_generation "
        "time_queue time_idle"
    ),
    "Loss of `grpo`, `starpo`, `structured`, `tsr` and `tool_use`": (
        "loss clipped kl grad_norm logprob_gap mismatch_mean mismatch_largest mismatch_kl replayed stale_groups"
    ),
    "Behaviour cloning": "tokens samples decisions copy_loss coverage learning_rate",
    "`filtered_bc`, `awr`, `digirl`, `webrl` and `starpo`": (
        "imitated chosen_episodes chosen_success critic_loss step_critic_loss goal_critic_loss goal_critic_accuracy mean_weight replayed_steps "
        "new_tasks reward_model_loss reward_model_accuracy reward_model_success kept_groups kept_deviation"
    ),
    "`structured` and `tsr`": (
        "format_right kind_right element_right argument_right format_of_failures structured_of_failures structured_of_successes progress "
        "known_steps searched importance_min importance_max"
    ),
    "`tool_use`": "tool_reward tool_calls failed_calls",
    "`reptile`": "drift",
    "Agent Q": "pairs accuracy margin dpo_loss solved",
    "Vision agent of `train_eyes`": "dormant_ratio kept_weights",
    "Report of `make demo`": "held_out",
    "Stable-Baselines3": (
        "approx_kl clip_fraction clip_range entropy_loss explained_variance n_updates policy_gradient_loss value_loss"
    ),
}
"""Logged metrics by what logs them."""

TRL_METRICS = {
    "success": "`reward`", "reward_deviation": "`reward_std`", "equal_groups": "`frac_reward_zero_std`", "reply_entropy": "`entropy`", "kl": "`kl`",
    "clipped": "`clip_ratio/region_mean`", "reply_tokens": "`completions/mean_length`", "action_errors": "`tools/failure_frequency`",
    "steps": "`tools/call_frequency`", "loss": "`loss`", "grad_norm": "`grad_norm`", "learning_rate": "`learning_rate`", "update": "`step`",
    "mismatch_mean": "`sampling/sampling_logp_difference/mean`", "mismatch_largest": "`sampling/sampling_logp_difference/max`",
}  # fmt: skip
"""The name of a metric in the log of TRL's GRPOTrainer."""


def keywords(names: str) -> Iterator[Section]:
    """Yield the table of some keywords of the env."""
    hints, defaults = get_type_hints(EnvOptions), _defaults(EnvOptions)
    yield (
        "",
        [
            {
                "keyword": f"`{name}`",
                "type": _type(hints[name]),
                "default": f"`{value}`" if isinstance(value := defaults[name], tuple) else _value(value),
                "meaning": _cell(option_descriptions()[name]),
            }
            for name in names.split()
        ],
    )


def application_keys() -> Iterator[Section]:
    """Yield the tables of the keys of `webarena-app.toml`, and of those of its tables `account` and `login`."""
    hints, defaults, meanings = get_type_hints(Application), _defaults(Application), field_descriptions(Application)
    for title, names in APPLICATION_KEYS.items():
        rows = []
        for name in names.split():
            kind = _toml_type(hints[name])
            default = "that of webarena-gym" if name == "python" else "" if kind == "table" else _toml_value(defaults[name])
            rows.append({"key": f"`{name}`", "type": kind, "default": default, "meaning": _cell(meanings[name])})
        yield title, rows
    for name, table in (("account", Account), ("login", Login)):
        described = re.findall(r"^ {8}(\w+): (.+?)\.$", table.__doc__ or "", re.MULTILINE | re.DOTALL)
        defaults = {key: table._field_defaults.get(key, MISSING) for key, _ in described}
        yield (
            f"`[{name}]`",
            [
                {"key": f"`{key}`", "default": _toml_value(defaults[key]), "meaning": _cell(" ".join(text.split()))}
                for key, text in described
            ],
        )


def _toml_type(hint: object) -> str:
    """Return the type of a value in TOML, as a cell."""
    types = {str: "string", int: "integer", float: "number", bool: "true or false", tuple[str, ...]: "list of strings"}
    return _type(hint) if get_origin(hint) is Literal else types.get(hint, "table")


def _toml_value(value: object) -> str:
    """Return a default in TOML, as a cell."""
    if value is MISSING:
        return "required"
    return f"`{json.dumps(list(value) if isinstance(value, tuple) else value)}`"


def training_options() -> Iterator[Section]:
    """Yield the tables of the options of `train_grpo`."""
    defaults = _defaults(GRPOSettings) | {"processes": 0}
    defaults["max_steps"] = _Text(f"as stored with the model, or {defaults['max_steps']}")
    defaults["system"] = _SYSTEM
    hidden = hidden_from_pointing_networks() | (STREAM_OPTIONS - {"staleness", "overlap", "workers"})  # no clusters either
    pointer = {name: value for name, value in defaults.items() if name not in hidden}
    language_model = {**defaults, **language_model_defaults("grpo"), "learning_rate": _Text(PRETRAINED_RL_RATES)}
    yield from _sections([GRPOSettings], {"language model": language_model, "pointer network": pointer}, GRPO_OPTIONS)


def trl_options() -> Iterator[Section]:
    """Yield the table of TRL's arguments with our options, and both defaults."""
    ours = {**_defaults(GRPOSettings), **language_model_defaults("grpo"), "learning_rate": _Text(PRETRAINED_RL_RATES)}
    yield (
        "",
        [
            {
                "TRL": f"`{name}`",
                "default in TRL": f"`{argument.default}`" if argument.default is None else _value(argument.default),
                "option here": _option(GRPOSettings, argument.option) if argument.option else "-",
                "default here": _cell_of(ours, argument.option),
                "remark": argument.remark,
            }
            for name, argument in GRPO_CONFIG.items()
        ],
    )


def method_defaults() -> Iterator[Section]:
    """Yield the table of the options whose defaults differ between methods; methods with equal defaults share a column."""
    columns: dict[str, dict[str, str]] = {}
    shared, hidden = [*_defaults(GRPOSettings), "replay"], hidden_from_pointing_networks()
    for method, kind in METHODS.items():
        defaults = _defaults(kind)
        language = {**defaults, **language_model_defaults(method)}
        if defaults["system"] == _defaults(TrainSettings)["system"]:
            language["system"] = _SYSTEM
        columns[method] = {
            name: ", ".join(dict.fromkeys([_cell_of(language, name), _cell_of(language if name in hidden else defaults, name)]))
            for name in shared
        }
    names = [name for name in shared if len({cells[name] for cells in columns.values()}) > 1 and name != "trainer"]
    groups: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for method, cells in columns.items():
        groups[tuple(cells[name] for name in names)].append(method)
    titles = {", ".join(f"`{method}`" for method in methods): methods[0] for methods in groups.values()}
    rows = []
    for name in names:
        kind = next(kind for kind in METHODS.values() if name in _defaults(kind))
        rows.append({"option": _option(kind, name), **{title: columns[method][name] for title, method in titles.items()}})
    yield "", rows


def method_options() -> Iterator[Section]:
    """Yield the tables of the options that other methods add to those of all methods or of M-GRPO, or whose defaults they change."""
    methods: dict[tuple[tuple[str, str, str], ...], list[str]] = defaultdict(list)
    for method, kind in METHODS.items():
        inherited, descriptions = (
            _defaults(GRPOSettings if issubclass(kind, GRPOSettings) else TrainSettings),
            setting_descriptions(kind),
        )
        changes = {name: value for name, value in _defaults(kind).items() if name not in inherited or inherited[name] != value}
        if changes:
            methods[
                tuple((_option(kind, name), _value(value), _cell(descriptions[name])) for name, value in changes.items())
            ].append(method)
    for rows, names in methods.items():
        title = ", ".join(f"`{name}`" for name in names)
        yield title, [dict(zip(("option", "default", "meaning"), row, strict=True)) for row in rows]


def cloning_options() -> Iterator[Section]:
    """Yield the tables of the options of `train_bc`."""
    small = _defaults(BCSettings)
    small_names = SMALL_MODEL_GROUPS["small model"][1].split()
    pretrained = {name: value for name, value in small.items() if name not in small_names} | dict(PRETRAINED)
    pretrained["learning_rate"] = _Text(PRETRAINED_BC_RATES)
    pointer = _defaults(PointerBCSettings) | {"model": MISSING}
    columns = {"pretrained model": pretrained, "small model": small, "pointer network": pointer}
    yield from _sections([BCSettings, PointerBCSettings], columns, SFT_OPTIONS)


def evaluation_options() -> Iterator[Section]:
    """Yield the tables of the options of `agents.evaluate`."""
    yield from _sections(
        [EvaluationSettings],
        {
            "default": _defaults(EvaluationSettings)
            | {"processes": 0}
            | {name: _Text(hint) for name, hint in default_hints().items()}
        },
        {},
    )


def metrics() -> Iterator[Section]:
    """Yield the tables of the metrics. Raises ValueError unless each metric of the report is in one table."""
    definitions = metric_definitions()
    titles = {"update": "number of the update", **definitions["axes"], **definitions["titles"]}
    names = [name for group in METRICS.values() for name in group.split()]
    if sorted(names) != sorted(titles):
        raise ValueError(
            f"METRICS differs from the report's metrics in {sorted({*names} ^ {*titles})}; expected each metric once"
        )
    for group, text in METRICS.items():
        yield (
            group,
            [{"metric": f"`{name}`", "meaning": titles[name], "TRL": TRL_METRICS.get(name, "")} for name in text.split()],
        )


def _defaults(kind: object) -> dict[str, Any]:
    """Return the defaults of a dataclass by field; MISSING for a required field."""
    return {item.name: item.default for item in fields(kind)}


class _Text(str):
    """A default in words."""


_SYSTEM = _Text(f'as stored with the model, or "{UNTRAINED_RECORD["system"]}"')


def _sections(kinds: Sequence[Any], columns: Mapping[str, Mapping[str, Any]], trl: Mapping[str, str]) -> Iterator[Section]:
    """Yield a table of each group of options. `columns` contains the defaults by kind of model; an absent option is not used."""
    names: dict[str, dict[str, Any]] = defaultdict(dict)
    for kind in kinds:
        for group, options in group_options(kind).items():
            for name in options:
                names[group].setdefault(name, kind)
    for group in [group for group in (*GROUPS, "method") if group in names]:
        rows = [
            {
                "option": _option(kind, name),
                "value": _value_name(kind, name),
                **{column: _cell_of(values, name) for column, values in columns.items()},
                "meaning": _meaning([other for other in kinds if name in _defaults(other)], name),
                **({"TRL": trl.get(name, "-")} if trl else {}),
            }
            for name, kind in names[group].items()
        ]
        yield group_description(group).removesuffix("."), rows


def _cell_of(values: Mapping[str, Any], name: str) -> str:
    if name not in values:
        return "-"
    return "none" if values[name] is None or values[name] in ((), "") else _value(values[name])


def _meaning(kinds: Sequence[Any], name: str) -> str:
    """Return the description of an option; if those of the kinds of settings differ, each that is not part of another."""
    texts = list(dict.fromkeys(setting_descriptions(kind)[name] for kind in kinds))
    text = " / ".join(text for text in texts if not any(text in other and text != other for other in texts))
    return _cell(text)


def _option(kind: object, name: str) -> str:
    """Return the option of a field on the command line, as a cell."""
    metadata = getattr(get_type_hints(kind, include_extras=True)[name], "__metadata__", ())
    (named, *_) = [item.name for item in metadata if getattr(item, "name", None)] or [name]
    return f"`--{named.replace('_', '-')}`"


def _value_name(kind: object, name: str) -> str:
    """Return the values of an option as a cell: its choices, the name of its value in the help, or "-" for an option without one."""
    hint = get_type_hints(kind, include_extras=True)[name]
    if value := value_name(name, hint):
        return f"`{value}`"
    unions = [part for part in get_args(hint) if part is not NoneType]
    if unions and all(get_origin(part) is Literal for part in unions):
        return f"`{{{','.join(value for part in unions for value in get_args(part))}}}`"
    parts = {part for part in (hint, *get_args(hint)) if part is bool}
    return "-" if parts else "`JSON`"


def _value(value: object) -> str:
    """Return a default as a cell."""
    if value is MISSING:
        return "required"
    if isinstance(value, _Text):
        return _cell(re.sub(r"--[a-z-]+|[\d.e-]*\d", r"`\g<0>`", value))
    if isinstance(value, tuple):
        is_range = bool(value) and isinstance(value[0], int) and value == (*range(value[0], value[-1] + 1),)
        return f"`{value[0]}` to `{value[-1]}`" if is_range else f"`{' '.join(map(str, value))}`"
    return f'`"{value}"`' if isinstance(value, str) else f"`{value}`"


def _type(hint: object) -> str:
    """Return a type as a cell: the values of a Literal, or the name of the type."""
    origin, parts = get_origin(hint), get_args(hint)
    if hint is NoneType:
        return "`None`"
    if origin in (Union, UnionType):
        return " or ".join(map(_type, parts))
    if origin is Literal:
        return ", ".join(f'`"{value}"`' for value in parts)
    if origin is tuple:
        return f"`tuple[{', '.join('...' if part is Ellipsis else part.__name__ for part in parts)}]`"
    if origin in (Sequence, Iterable):
        return f"sequence of {_type(parts[0])}"
    if origin is Mapping:
        return "JSON object" if parts[1] is Any else f"mapping of {_type(parts[0])} to {_type(parts[1])}"
    return "function" if origin is Callable else f"`{hint.__name__}`"


def _cell(text: str) -> str:
    """Return a description with its quoted values as code."""
    return re.sub(r'(`[^`]*`)|("[^"`]*")', lambda match: match[1] or f"`{match[2]}`", text)


TABLES: dict[str, Callable[[], Iterator[Section]]] = {
    **{name: partial(keywords, names) for name, names in KEYWORDS.items()},
    "application_keys": application_keys, "training_options": training_options, "method_options": method_options, "cloning_options": cloning_options,
    "method_defaults": method_defaults, "evaluation_options": evaluation_options, "metrics": metrics, "trl_options": trl_options,
}  # fmt: skip
