"""Groups of rollouts."""

from agents.data.trajectories import Trajectory
from agents.rollouts.curriculum import Group


def group(task, *rewards, ending="exited"):
    return Group(0, task, [Trajectory("t", "g", (), reward, ending) for reward in rewards])
