"""Methods of reinforcement as peers: each says how rollouts become a training batch, with which loss, and what else it trains.

- `grpo`: multi-turn GRPO, with the advantage estimators of `estimators` and the presets of `presets`
- `filtered_bc`: filtered behaviour cloning, which imitates the episodes that succeeded
- `awr`: advantage-weighted regression
- `starpo`: RAGEN's StarPO and StarPO-S, PPO over whole trajectories of the groups that are least certain
- `digirl`: DigiRL, which imitates steps that two value functions call better than expected
- `structured`: WorkForceAgent-R1, M-GRPO with rewards for the form, action, element and argument of each step
- `tsr`: trajectory-search rollouts, M-GRPO on rollouts that a search has found
- `webrl`: WebRL, which plays new tasks near those it failed, and moves towards advantages without leaving its last policy far
"""

from agents.methods.awr import AWRSettings
from agents.methods.digirl import DigiRLSettings
from agents.methods.filtered_bc import FilteredBCSettings
from agents.methods.grpo import GRPOSettings
from agents.methods.method import MethodSettings
from agents.methods.starpo import StarPOSettings
from agents.methods.structured import StructuredSettings
from agents.methods.tsr import TSRSettings
from agents.methods.webrl import WebRLSettings

METHODS: dict[str, type[MethodSettings]] = {
    kind.name: kind
    for kind in (
        GRPOSettings,
        FilteredBCSettings,
        AWRSettings,
        DigiRLSettings,
        WebRLSettings,
        StarPOSettings,
        StructuredSettings,
        TSRSettings,
    )
}
"""The settings of each method, by the name that `--method` gives it."""
