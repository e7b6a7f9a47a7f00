"""Train an agent that sees: `python -m agents.train_eyes --out runs/eyes --tasks click-color identify-shape`. Needs the extra `chromium`."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from agents.settings import MayChange, expect_least, parse_settings
from webarena_gym import console


@dataclass(frozen=True, kw_only=True)
class EyesSettings:
    """Clone an agent that sees, improve it by GRPO, and evaluate both on episodes that it has never seen."""

    out: Path
    """folder of the run"""
    tasks: tuple[str, ...] = ()
    """names of tasks of MiniWoB++; by default the shipped tasks that need eyes"""
    worlds: tuple[int, ...] = (11, 12, 13, 14, 15, 16, 17, 18)
    """seeds of the worlds that shipped tasks are drawn in"""
    test_world: int = 2601
    """seed of the world that shipped tasks are evaluated in"""
    shown: int = 24
    """of each task of MiniWoB++; shipped tasks have one in each world"""
    clone_updates: int = 600
    """updates of cloning, of 32 decisions each"""
    updates: MayChange[int] = 30
    """updates by GRPO; 0: the clone alone"""
    tasks_per_update: int = 12
    """groups in one batch of rollouts"""
    group_size: int = 8
    """episodes of each task, all from one seed"""
    epochs: int = 4
    """passes over a batch of rollouts, with 64 decisions an update"""
    temperature: float = 2.0
    """of sampling in GRPO, and of the probabilities that it trains"""
    max_steps: int = 8
    """steps after which an episode is truncated"""
    learning_rate: float = 1e-3
    """of cloning; GRPO's is a third of it"""
    evaluated: int = 16
    """episodes of each task of MiniWoB++ that are evaluated"""
    seed: int = 0
    """of weights, tasks, sampling and order"""
    threads: MayChange[int] = 1
    """CPU threads of the network"""

    def __post_init__(self) -> None:
        expect_least(
            self,
            shown=1,
            clone_updates=1,
            updates=0,
            tasks_per_update=1,
            group_size=2,
            epochs=1,
            max_steps=1,
            evaluated=1,
        )
        if not self.temperature > 0:
            raise ValueError(f"temperature is {self.temperature}; expected more than 0")


def main(arguments: Sequence[str]) -> None:
    """Train as the command line says, and print how the clone and the reinforced agent do."""
    settings = parse_settings(EyesSettings, arguments, program="agents.train_eyes")
    from agents.eyes import train  # noqa: PLC0415 - options are refused without torch

    result = train(settings)
    for name in ("clone", "reinforced"):
        score = result[name]
        print(f"{name}: {score['success']:.1%} ({score['low']:.0%} to {score['high']:.0%}, n = {score['n']})")
    lift = result["lift"]
    print(f"lift: {lift['lift']:+.1%} ({lift['low']:+.1%} to {lift['high']:+.1%})")


if __name__ == "__main__":
    console.run("python -m agents.train_eyes", main)
