"""Presets: named settings of `train_grpo`, each after one source. What a preset does not name is as the settings' own defaults."""

from typing import Any

# WebAgent-R1, arXiv 2505.16421, section 4 and the released configuration.
PAPER: dict[str, Any] = {
    "advantages": "trajectory",
    "scale_advantages": True,
    "weighting": "paper",
    "tasks_per_update": 16,
    "group_size": 4,
    "learning_rate": 1e-6,
    "clip_low": 0.2,
    "clip_high": 0.2,
    "kl_weight": 0.001,
    "max_grad_norm": 0.01,
    "adam_beta2": 0.99,
    "temperature": 1.0,
    "max_new_tokens": 1024,
    "max_prompt_tokens": 16_384,
    "max_steps": 15,
    "elements": "id",
    "history": "compressed",
    "thoughts": True,
    "system": "think",
    "seek_mixed": False,
}

PRESETS: dict[str, dict[str, Any]] = {
    "small": {},
    "paper": PAPER,
    # What the released trainer does in place of the paper's equation; an ablation.
    "released": {**PAPER, "weighting": "token_mean", "contexts": "released", "old_logprobs": "recomputed"},
    # DAPO's objective, arXiv 2503.14476.
    "dapo": {
        "advantages": "trajectory",
        "weighting": "token_mean",
        "clip_low": 0.2,
        "clip_high": 0.28,
        "dynamic_sampling": 3,
    },
    # GiGPO's objective, arXiv 2505.10978.
    "gigpo": {
        "advantages": "gigpo",
        "state_weight": 1.0,
        "discount": 0.95,
        "weighting": "token_mean",
        "clip_low": 0.2,
        "clip_high": 0.2,
    },
    # Chosen on validation tasks for a pointing network, which is no language model and learns with larger steps.
    "pointer": {
        "advantages": "state",
        "weighting": "token_mean",
        "group_size": 8,
        "epochs": 2,
        "minibatches": 4,
        "learning_rate": 5e-4,
        "adam_beta2": 0.99,
        "weight_decay": 0.01,
        "tokens_per_pass": 65_536,
        "average": 0.97,
        "groups_remembered": 5,
        "replayed": 48,
        "old_logprobs": "recomputed",
        "critic_learning_rate": 2e-3,
    },
}
