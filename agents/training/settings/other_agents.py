"""Settings of PPO on candidate actions, and of the vision agent."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from agents.command_lines import NewFolder
from agents.settings import MayChange, RunSettings, TrainingWorlds, expect_least


@dataclass(frozen=True, kw_only=True)
class SB3Settings(RunSettings):
    """Train PPO on candidate actions. The same command resumes an interrupted run from its newest checkpoint with new episodes."""

    algorithm: Literal["ppo", "maskable_ppo"] = "maskable_ppo"
    """PPO of Stable-Baselines3, or masked PPO of sb3-contrib"""
    out: MayChange[NewFolder] = Path("runs/sb3")
    """folder of the run: the model as a zip of the library, metrics, TensorBoard"""
    candidates: int = 48
    """candidate actions of a page: the size of the action space"""
    num_envs: MayChange[int] = 8
    """episodes played at the same time"""
    steps_per_update: int = 128
    """steps of each env between updates"""
    epochs: int = 4
    """passes over the steps in an update"""
    batch: int = 256
    """steps in one gradient step"""
    learning_rate: float = 1e-3
    """learning rate of Adam"""
    discount: float = 0.95
    """discount factor of the reward per step; below 1, shorter solutions are worth more"""
    entropy_weight: float = 0.01
    """weight of the entropy bonus"""
    width: int = 64
    """units of each layer of the policy"""
    prior: float = 4.0
    """initial weight of a candidate's word overlap with the goal in its score; 0: uniform initial policy"""
    save_every: MayChange[int] = 20
    """updates between saves"""

    def agent(self) -> dict[str, Any]:
        """Return the agent record: the options with which the trained model must be used."""
        return {**self.env_arguments(), "algorithm": self.algorithm, "candidates": self.candidates}


@dataclass(frozen=True, kw_only=True)
class EyesSettings(TrainingWorlds):
    """Train a vision agent by behaviour cloning, improve it by GRPO, and evaluate both agents on held-out episodes."""

    out: NewFolder
    """folder of the run"""
    tasks: tuple[str, ...] = ()
    """names of MiniWoB++ tasks; by default the bundled tasks with pictures"""
    worlds: tuple[int, ...] = (11, 12, 13, 14, 15, 16, 17, 18)
    """seeds of the training worlds of bundled tasks"""
    test_world: int = 2601
    """seed of the test world of bundled tasks"""
    shown: int = 24
    """number of demonstrations of each MiniWoB++ task; bundled tasks have one in each world"""
    explore_updates: int = 0
    """updates of GRPO before behaviour cloning, with curiosity as the only reward (URLB); 0: none"""
    clone_updates: int = 600
    """updates of behaviour cloning, with 32 decisions each; 0: nothing is demonstrated"""
    updates: MayChange[int] = 30
    """updates of GRPO; 0: only behaviour cloning"""
    tasks_per_update: int = 12
    """groups in one batch of rollouts"""
    group_size: int = 8
    """episodes of each task, all from one seed"""
    epochs: int = 4
    """passes over a batch of rollouts, with 64 decisions in an update"""
    temperature: float = 2.0
    """temperature of sampling in GRPO, and of the trained probabilities"""
    max_steps: int = 8
    """steps after which an episode is truncated"""
    learning_rate: float = 1e-3
    """learning rate of behaviour cloning; the learning rate of GRPO is a third of it"""
    experts: int = 0
    """experts of the actor, 16 in MENTOR; 0: a plain network"""
    top_experts: int = 4
    """number of experts that compute a choice"""
    gate_weight: float = 0.002
    """weight of the loss of the gate of experts: its load balance and its entropy"""
    perturb_every: int = 0
    """updates of GRPO between perturbations towards the best agents of the run (MENTOR); 0: none"""
    evaluated: int = 16
    """number of evaluation episodes of each MiniWoB++ task"""
    seed: int = 0
    """random seed of weights, tasks, sampling and order"""
    threads: MayChange[int] = 1
    """CPU threads of the network"""

    def __post_init__(self) -> None:
        counts = ("shown", "tasks_per_update", "epochs", "max_steps", "evaluated", "top_experts")
        expect_least(self, **dict.fromkeys(counts, 1), group_size=2)
        expect_least(self, **dict.fromkeys(("explore_updates", "clone_updates", "updates", "experts", "perturb_every"), 0))
        if self.explore_updates and self.max_steps < 2:
            raise ValueError(
                f"max_steps is {self.max_steps}; expected at least 2 with explore_updates, which rewards the pages after the first one"
            )
        if self.experts and self.top_experts > self.experts:
            raise ValueError(f"top_experts is {self.top_experts}; expected at most {self.experts}, the number of experts")
        self.expect_training_worlds("worlds", self.worlds)
        if self.test_world in self.worlds and not self.allow_held_out_worlds:
            raise ValueError(f"worlds includes {self.test_world}, which is test_world; expected another world to evaluate in")
        if not self.temperature > 0:
            raise ValueError(f"temperature is {self.temperature}; expected more than 0")
