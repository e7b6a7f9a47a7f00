"""Names of TRL 1.16 for the options of the training commands, with TRL's defaults."""

from collections.abc import Mapping
from typing import Any, NamedTuple


class TRLArgument(NamedTuple):
    """An argument of TRL's GRPOConfig: the name of our option, or "", TRL's default, and a remark."""

    option: str
    default: str | float | None
    remark: str = ""


GRPO_CONFIG: Mapping[str, TRLArgument] = {
    "num_generations": TRLArgument("group_size", 8),
    "generation_batch_size": TRLArgument("tasks_per_update", None, "in rollouts: `--tasks-per-update` x `--group-size`; set by the batch sizes"),
    "num_iterations": TRLArgument("epochs", 1),
    "steps_per_generation": TRLArgument("minibatches", None, "set by the batch sizes"),
    "per_device_train_batch_size": TRLArgument("tokens_per_pass", 8, "in samples"),
    "max_completion_length": TRLArgument("max_new_tokens", 512, "of all replies and pages of an episode; here of one reply"),
    "max_tool_calling_iterations": TRLArgument("max_steps", None),
    "temperature": TRLArgument("temperature", 1.0),
    "learning_rate": TRLArgument("learning_rate", 1e-6),
    "lr_scheduler_type": TRLArgument("schedule", "linear"),
    "max_grad_norm": TRLArgument("max_grad_norm", 1.0),
    "beta": TRLArgument("kl_weight", 0.0),
    "epsilon": TRLArgument("clip_low", 0.2),
    "epsilon_high": TRLArgument("clip_high", None, "None: the value of `epsilon`"),
    "importance_sampling_level": TRLArgument("ratio", "token"),
    "loss_type": TRLArgument("weighting", "dapo"),
    "scale_rewards": TRLArgument("", "group", "advantages are divided by the standard deviation, as with `group`"),
    "vllm_importance_sampling_mode": TRLArgument("correction", "sequence_mask", "used with `use_vllm`, limit 3; here 2"),
    "save_steps": TRLArgument("save_every", 500),
    "output_dir": TRLArgument("out", None),
    "seed": TRLArgument("seed", 42),
    "gradient_checkpointing": TRLArgument("gradient_checkpointing", True),
    "bf16": TRLArgument("dtype", None, "True if `fp16` is not set"),
    "use_vllm": TRLArgument("vllm", False),
    "weight_decay": TRLArgument("", 0.0, "0 for a language model here"),
    "mask_truncated_completions": TRLArgument("", False, "truncated replies are trained on here"),
    "entropy_coef": TRLArgument("", 0.0, "no entropy bonus in `train_grpo`"),
    "top_p": TRLArgument("", 1.0, "all tokens are sampled from here"),
    "top_k": TRLArgument("", 0, "all tokens are sampled from here"),
    "delta": TRLArgument("", None, "no second limit of the ratio here"),
}  # fmt: skip
"""Arguments of TRL's GRPOConfig. `tests/integrations/test_trl.py` compares the defaults with the installed TRL."""


def trl_errors(options: Mapping[str, Any]) -> dict[str, str]:
    """Return the ends of error messages for TRL's names, by their spelling as an option, for a command with `options`.

    >>> errors = trl_errors({"group_size": 8})
    >>> errors["--num-generations"]
    'is a name of TRL; the option here is --group-size'
    >>> errors["--top-k"]
    'is a name of TRL without an option here: all tokens are sampled from here'
    """
    return {
        f"--{name.replace('_', '-')}": f"is a name of TRL; the option here is --{argument.option.replace('_', '-')}"
        if argument.option
        else f"is a name of TRL without an option here: {argument.remark}"
        for name, argument in GRPO_CONFIG.items()
        if (not argument.option or argument.option in options) and name not in options
    }
