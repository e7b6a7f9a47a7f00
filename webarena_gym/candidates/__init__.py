"""Web tasks for libraries that know no text: one action for each candidate of a page, and observations of float arrays.

`gymnasium.make("WebArenaLiteCandidates-v0")` is the env, `CandidateActions` the wrapper that makes it of any env of this package.
"""

from webarena_gym.candidates.arrays import PAGE as PAGE
from webarena_gym.candidates.arrays import ROW as ROW
from webarena_gym.candidates.arrays import Reader as Reader
from webarena_gym.candidates.candidate import Candidate as Candidate
from webarena_gym.candidates.candidate import find_candidates as find_candidates
from webarena_gym.candidates.env import CandidateActions as CandidateActions
from webarena_gym.candidates.env import make as make
from webarena_gym.candidates.env import observation_space as observation_space
