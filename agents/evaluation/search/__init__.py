"""Search at test time: play a task several times from snapshots, and choose one episode without reading any reward.

`methods` are the searches. `branches` expands states in envs for them. `values` rank states and choose among ends. `preferences` compares
the actions of a tree that was told its rewards, for training.
"""

from agents.evaluation.search.branches import Found as Found
from agents.evaluation.search.branches import Method as Method
from agents.evaluation.search.branches import play as play
from agents.evaluation.search.methods import best_of_n as best_of_n
from agents.evaluation.search.methods import monte_carlo as monte_carlo
from agents.evaluation.search.methods import tree_search as tree_search
from agents.evaluation.search.values import State as State
from agents.evaluation.search.values import by_value as by_value
from agents.evaluation.search.values import confidence as confidence
from agents.evaluation.search.values import critic_value as critic_value
from agents.evaluation.search.values import load_critic as load_critic
from agents.evaluation.search.values import majority as majority
from agents.evaluation.search.values import told_reward as told_reward
