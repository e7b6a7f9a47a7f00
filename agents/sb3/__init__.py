"""Web tasks for libraries that know no text: one action for each candidate of a page, and observations of float arrays.

Made for Stable-Baselines3, but nothing here imports it save `networks`; any library for Discrete actions will do.
"""

from agents.sb3.arrays import PAGE as PAGE
from agents.sb3.arrays import ROW as ROW
from agents.sb3.arrays import Reader as Reader
from agents.sb3.candidates import Candidate as Candidate
from agents.sb3.candidates import find_candidates as find_candidates
from agents.sb3.wrapper import CandidateActions as CandidateActions
from agents.sb3.wrapper import observation_space as observation_space
