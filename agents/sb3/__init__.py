"""Stable-Baselines3's PPO on `WebArenaLiteCandidates-v0`: networks that score every candidate with the same weights.

What the env is made of is in `webarena_gym.candidates`; the names below are kept for those who import them from here.
"""

from webarena_gym.candidates import PAGE as PAGE
from webarena_gym.candidates import ROW as ROW
from webarena_gym.candidates import Candidate as Candidate
from webarena_gym.candidates import CandidateActions as CandidateActions
from webarena_gym.candidates import Reader as Reader
from webarena_gym.candidates import find_candidates as find_candidates
from webarena_gym.candidates import observation_space as observation_space
