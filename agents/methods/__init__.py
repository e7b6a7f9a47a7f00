"""Methods of reinforcement beside `agents.grpo`, one file each: how rollouts become steps to train on, with which loss, and what else is trained."""

from typing import Any, NamedTuple

from agents import grpo
from agents.methods.awr import AWR, AWRSettings
from agents.methods.digirl import DigiRL, DigiRLSettings
from agents.methods.filtered_bc import FilteredBC, FilteredBCSettings
from agents.methods.starpo import StarPO, StarPOSettings
from agents.methods.structured import Structured, StructuredSettings
from agents.methods.tsr import TSR, TSRSettings
from agents.methods.webrl import WebRL, WebRLSettings


class Method(NamedTuple):
    """The options of a method, and what makes it of them, the tasks, the model, envs and a policy."""

    settings: type[Any]
    create: type[Any]


METHODS = {
    "grpo": Method(grpo.GRPOSettings, grpo.GRPO),
    "filtered_bc": Method(FilteredBCSettings, FilteredBC),
    "awr": Method(AWRSettings, AWR),
    "digirl": Method(DigiRLSettings, DigiRL),
    "webrl": Method(WebRLSettings, WebRL),
    "starpo": Method(StarPOSettings, StarPO),
    "structured": Method(StructuredSettings, Structured),
    "tsr": Method(TSRSettings, TSR),
}
"""By the name that `--method` gives them."""
