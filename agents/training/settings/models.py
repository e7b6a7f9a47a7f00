"""Settings of language models: prompts, replies, the computation of passes, and what they train on."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

from agents.command_lines import ChatTemplateKwargs
from agents.data.prompts import Style
from agents.settings import EnvSettings, MayChange, PassSettings, RunFolderSettings

SMALL = "small"
POINTER = "pointer"


@dataclass(frozen=True, kw_only=True)
class LanguageModelSettings(PassSettings, EnvSettings):
    """Prompts and replies of a language model, and the computation of its passes."""

    system: Style = "none"
    """the system prompt: none, for a model after behaviour cloning; env (that of the env, which describes the actions and the form of
    answers), for a model that does not know the actions; act (only an action), think (reasoning before the action), react (short thoughts
    that remain in the conversation), or plan (a plan with reflection)"""
    constrained: bool = False
    """allow only well-formed actions on elements of the page, with spans of the goal or the page as arguments"""
    max_new_tokens: int = 64
    """maximum length of a reply in tokens"""
    max_prompt_tokens: int = 4096
    """maximum length of a prompt in tokens; a longer prompt ends the episode with reward 0"""
    chat_template_kwargs: ChatTemplateKwargs = None
    """variables of the model's chat template, as a JSON object, such as `{"enable_thinking": false}` for replies without reasoning"""
    contexts: Literal["sampled", "released"] = "sampled"
    """train each action in the context it was sampled in, or, as an ablation, with its page replaced by the placeholder, as the released
    trainer of WebAgent-R1 does"""
    correction: Literal["none", "token", "sequence_mask"] = "none"
    """correction for a sampler that differs from the trainer; none: no correction; token: weight each token by its ratio, at most 2;
    sequence_mask: weight the reply by its ratio, and drop it above 2"""
    num_envs: MayChange[int] = 64
    """episodes played at the same time"""
    sharing: MayChange[Literal["auto", "rows", "tree"]] = "auto"
    """compute common prefixes of samples once: if it is faster (auto), never (rows), or always (tree); rows and tree are for comparisons"""
    vllm: MayChange[str] = ""
    """URL of a vLLM server for sampling, such as http://127.0.0.1:8000; by default, the model samples in this process"""

    def agent(self) -> dict[str, Any]:
        """Return the agent record: the options with which the trained model must be used."""
        return {
            **self.env_record(),
            "system": self.system,
            "max_new_tokens": self.max_new_tokens,
            "constrained": self.constrained,
            **template_record(self.chat_template_kwargs),
        }


def template_record(values: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the entry of the agent record for the variables of the chat template; empty without variables."""
    return {"chat_template_kwargs": dict(values)} if values else {}


PRETRAINED: Mapping[str, Any] = {"copy_weight": 0.0, "curriculum": 0.0, "max_prompt_tokens": 4096, "learning_rate": 2e-5}
"""Defaults of behaviour cloning for pretrained language models. The others are for small models, which first learn to copy."""
SMALL_MODEL_GROUPS: Mapping[str, tuple[str, str]] = {
    "small model": (
        "Only for --model small or a model that it created.",
        "vocabulary width layers heads practice inserted_layers",
    ),
}
"""Group of options in the help of behaviour cloning, in the form of `agents.command_lines.GROUPS`."""
PRETRAINED_RL_LEARNING_RATE = 1e-6
"""Default learning rate of reinforcement learning for all weights of pretrained language models."""
LORA_LEARNING_RATE = 5e-4
"""Default learning rate of the adapters of pretrained language models."""

OldLogprobs = Literal["sampled", "recomputed"]


@dataclass(frozen=True, kw_only=True)
class ModelSettings(LanguageModelSettings, RunFolderSettings):
    """A model that is trained on its own episodes."""

    model: str
    """the model to train: a run of train_bc, which creates new models, a model folder, or OWNER/NAME on the Hugging Face Hub"""
    temperature: float = 1.0
    """temperature of sampling and of the trained log-probabilities, above 0"""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.temperature > 0:
            raise ValueError(
                f"temperature is {self.temperature}; expected more than 0, since training compares sampled replies"
            )

    # Some methods have options of these names.

    @property
    def old_logprobs(self) -> OldLogprobs:
        """The log-probabilities of the policy before an update: the sampler's, or the trainer's."""
        return "sampled"

    @property
    def kl_weight(self) -> float:
        """Weight of the KL divergence to the initial model."""
        return 0.0

    @property
    def distilled(self) -> float:
        """Weight of self-distillation."""
        return 0.0


def hidden_from_pointing_networks() -> set[str]:
    """Return the names of options that only apply to language models."""
    return {item.name for item in fields(LanguageModelSettings)} - {"variation", "max_steps", "application", "suite"} | {
        "distilled"
    }


PRETRAINED_RL_RATES = f"{PRETRAINED_RL_LEARNING_RATE:g}, or 0.0003 with --lora-rank"
"""Default learning rates of reinforcement learning for pretrained language models, for the help."""
PRETRAINED_BC_RATES = f"{PRETRAINED['learning_rate']:g}, or {LORA_LEARNING_RATE:g} with --lora-rank"
"""Default learning rates of behaviour cloning for pretrained language models, for the help."""

MODEL_RECORD_FIELDS = ("system", "max_new_tokens", "constrained", "chat_template_kwargs")
"""Names of the options in a language model's agent record, in addition to those of the env."""

LANGUAGE_MODEL_GROUPS: Mapping[str, tuple[str, str]] = {
    "language model prompt": (
        "Language models only: prompts and replies.",
        "system chat_template_kwargs elements history thoughts window max_prompt_tokens max_new_tokens constrained contexts tools tool_budget",
    ),
    "language model computation": (
        "Language models only: precision, memory, adapters and sampling.",
        "lora_layers dtype gradient_checkpointing tokens_per_pass num_envs vllm correction sharing distilled",
    ),
}
"""Groups of options in the help for any model, in the form of `agents.command_lines.GROUPS`."""

OF_LANGUAGE_MODELS: Mapping[str, Any] = {
    "group_size": 16, "epochs": 1, "minibatches": 1, "learning_rate": 3e-4, "average": 0.0, "replayed": 0,
    "groups_remembered": 2, "old_logprobs": "sampled",
}  # fmt: skip
"""Defaults for language models that differ from those for pointer networks."""
