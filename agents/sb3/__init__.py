"""A wrapper for libraries without text spaces: Discrete actions, one for each candidate of a page, and float observations.

It is made for Stable-Baselines3 and works with any library for Discrete actions; only `networks` and `trainer` import Stable-Baselines3.
"""

from agents.sb3.arrays import PAGE as PAGE
from agents.sb3.arrays import ROW as ROW
from agents.sb3.arrays import Reader as Reader
from agents.sb3.candidates import Candidate as Candidate
from agents.sb3.candidates import find_candidates as find_candidates
from agents.sb3.wrapper import CandidateActions as CandidateActions
from agents.sb3.wrapper import observation_space as observation_space
