"""PPO of Stable-Baselines3 or masked PPO of sb3-contrib on `WebArenaLiteCandidates-v0`.

The algorithms are those of the libraries. This module contains the policy networks, which score every candidate with the same layers, and
the loop around `learn`. It needs the extra `baselines`.
"""

import json
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from pickle import UnpicklingError
from typing import Any
from zipfile import ZipFile

import gymnasium
import numpy
import torch
from gymnasium.spaces import Dict, Discrete
from numpy.typing import NDArray
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3 import PPO
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.save_util import load_from_zip_file
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from stable_baselines3.common.vec_env import DummyVecEnv, VecMonitor
from torch import Tensor, nn

from agents.data.demonstrations import training_tasks
from agents.models.checkpoints import CheckpointError, agent_record, record_settings
from agents.models.packages import AGENT
from agents.rollouts.policies import Request, local_env
from agents.settings import ENV_ID, fixed_options, option_defaults
from agents.training.metrics import Metrics, read_metrics
from agents.training.settings import SB3Settings
from webarena_gym.candidates import PAGE, PRESENCE, RELEVANCE, ROW, CandidateActions, Featurizer, observation_space
from webarena_gym.console import lock_folder, writing
from webarena_gym.tasks import Task


class CandidateScorer(BaseFeaturesExtractor):
    """A features extractor that computes one score per candidate from the features of the candidate and the page.

    The features of B observations with N candidates are the scores (B, N), and a state (B, 2 * width) for the value function, which
    consists of the page's hidden units and the maximum of each unit over the candidates.

    Args:
        observation_space: The space of `WebArenaLiteCandidates-v0`.
        width: Number of hidden units.
        prior: Initial weight of a candidate's relevance to the goal. An untrained score is this multiple of the relevance; 0 gives the
            uniform policy.

    """

    def __init__(self, observation_space: Dict, width: int = 64, prior: float = 4.0) -> None:
        candidates = observation_space["candidates"].shape[0]  # type: ignore[index]
        super().__init__(observation_space, features_dim=candidates + 2 * width)
        self.page = nn.Linear(PAGE, width)
        self.row = nn.Linear(ROW, width)
        self.hidden = nn.Linear(width, width)
        self.score = nn.Linear(width, 1)
        self.prior = nn.Parameter(torch.tensor(prior))
        nn.init.zeros_(self.score.weight)
        nn.init.zeros_(self.score.bias)

    def forward(self, observations: dict[str, Tensor]) -> Tensor:
        """Return the features of B observations with N candidates each."""
        rows_BNF = observations["candidates"]
        page_BW = self.page(observations["page"])
        hidden_BNW = torch.relu(self.hidden(torch.relu(self.row(rows_BNF) + page_BW[:, None])))
        scores_BN = self.score(hidden_BNW).squeeze(-1) + self.prior * rows_BNF[..., RELEVANCE]
        maximum_BW = (hidden_BNW * rows_BNF[..., PRESENCE, None]).amax(1)
        return torch.cat([scores_BN, torch.relu(page_BW), maximum_BW], dim=1)


class FeatureSplitter(nn.Module):
    """Splits the features into scores for the action distribution and the state for the value function. Used as `mlp_extractor`."""

    def __init__(self, candidates: int) -> None:
        super().__init__()
        self.candidates = candidates

    def forward(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """Return both parts."""
        return self.forward_actor(features), self.forward_critic(features)

    def forward_actor(self, features: Tensor) -> Tensor:
        """Return the scores."""
        return features[:, : self.candidates]

    def forward_critic(self, features: Tensor) -> Tensor:
        """Return the state."""
        return features[:, self.candidates :]


class _ScoringPolicyMixin:
    """A policy for PPO without the library's layers between the scores and the action distribution.

    Its `features_extractor_class` must be a `CandidateScorer`; it adds only the value function's last layer.
    """

    def _build(self, lr_schedule: Callable[[float], float]) -> None:
        policy: Any = self
        candidates = int(policy.action_space.n)
        policy.mlp_extractor = FeatureSplitter(candidates)
        policy.action_net = nn.Identity()
        policy.value_net = nn.Linear(policy.features_dim - candidates, 1)
        policy.optimizer = policy.optimizer_class(policy.parameters(), lr=lr_schedule(1), **policy.optimizer_kwargs)


class CandidatePolicy(_ScoringPolicyMixin, ActorCriticPolicy):
    """A policy for PPO."""


class MaskableCandidatePolicy(_ScoringPolicyMixin, MaskableActorCriticPolicy):
    """A policy for MaskablePPO."""


MODEL = "model.zip"
_ALGORITHMS: dict[str, tuple[Any, Any]] = {
    "ppo": (PPO, CandidatePolicy),
    "maskable_ppo": (MaskablePPO, MaskableCandidatePolicy),
}


def train(settings: SB3Settings, tasks: Sequence[Task] | None = None) -> Path:
    """Train and return the folder of the run. The default tasks are drawn from the worlds of the settings."""
    if settings.threads:
        torch.set_num_threads(settings.threads)
    tasks = training_tasks(settings, tasks)

    def make_env() -> CandidateActions:
        env = gymnasium.make(ENV_ID, tasks=tasks, disable_env_checker=True, **settings.env_arguments())
        return CandidateActions(env, settings.candidates)

    with closing(VecMonitor(DummyVecEnv([make_env] * settings.num_envs))) as envs:
        model = _create_model(settings, envs)
        per_update = settings.num_envs * settings.steps_per_update
        records = [record for record in read_metrics(settings.out) if record["env_steps"] <= model.num_timesteps]
        update, elapsed_s = len(records), records[-1]["elapsed_s"] if records else 0.0
        cpu_s_before = (60 * records[-1]["cpu_minutes"] if records else 0.0) - time.process_time()
        # A resumed run must not repeat the random draws of its first updates.
        model.set_random_seed(settings.seed + update * settings.num_envs)

        with Metrics(settings.out, update, settings.algorithm, updates=settings.planned_updates) as metrics:
            progress = settings.progress(update, elapsed_s, records[-1] if records else {})
            while progress < 1:
                start_s = time.perf_counter()
                episodes: list[dict[str, Any]] = []

                def collect(variables: dict[str, Any], _: dict[str, Any], episodes: list[dict[str, Any]] = episodes) -> bool:
                    episodes += [info for info in variables["infos"] if "episode" in info]
                    return True

                model.learn(per_update, callback=collect, reset_num_timesteps=False)
                update, elapsed_s = update + 1, elapsed_s + time.perf_counter() - start_s
                cpu_minutes = (cpu_s_before + time.process_time()) / 60
                progress = settings.progress(update, elapsed_s, {"cpu_minutes": cpu_minutes})
                logged_values = model.logger.name_to_value.items()
                values = {name.removeprefix("train/"): float(value) for name, value in logged_values}
                valid = [info["episode"] for info in episodes if "failure" not in info]  # success excludes failed episodes
                if valid:
                    values["success"] = float(sum(episode["r"] for episode in valid)) / len(valid)
                    values["steps"] = sum(episode["l"] for episode in valid) / len(valid)
                values = {"rollouts": len(episodes), "failed": len(episodes) - len(valid)} | values
                values |= {"env_steps": model.num_timesteps, "cpu_minutes": cpu_minutes}
                metrics.log(update, values | {"elapsed_s": elapsed_s})
                metrics.show_progress(progress, f"success {values.get('success', 0.0):.2f}")
                if update % settings.save_every == 0:
                    _save(model, settings)
            _save(model, settings)
    return settings.out


def distribution_at(probabilities: NDArray[numpy.float64], temperature: float) -> NDArray[numpy.float64]:
    """Return the distribution that is proportional to the powers 1 / temperature of positive probabilities.

    >>> probabilities = numpy.array([0.2, 0.8])
    >>> distribution_at(probabilities, 1.0).tolist(), distribution_at(probabilities, 0.5).round(3).tolist(), distribution_at(probabilities, 1e-6).tolist()
    ([0.2, 0.8], [0.059, 0.941], [0.0, 1.0])
    """
    weights = (probabilities / probabilities.max()) ** (1 / temperature)  # the largest is 1
    result: NDArray[numpy.float64] = weights / weights.sum()
    return result


@dataclass
class SB3Replies:
    """The replies of a trained model, for `agents.rollouts.policies.ScriptedPolicy`. The envs must be in this process.

    With temperature 0, the most likely candidate is selected. Otherwise it is sampled with the request's seed.
    """

    model: Any
    candidates: int
    temperature: float = 0.0
    _featurizers: dict[int, Featurizer] = field(default_factory=dict)

    def __call__(self, request: Request) -> str:
        """Return the reply to a request. Raises ValueError if the env is in another process."""
        env = local_env(request)
        if request.info["step"] == 0:
            self._featurizers[request.slot] = Featurizer(self.candidates)
        featurizer = self._featurizers[request.slot]
        observation, _ = self.model.policy.obs_to_tensor(featurizer.read(env.page, env.observation, request.info))
        masks = {"action_masks": featurizer.mask()} if isinstance(self.model, MaskablePPO) else {}
        with torch.no_grad():
            probabilities = self.model.policy.get_distribution(observation, **masks).distribution.probs[0].double().numpy()
        index = int(probabilities.argmax())
        if self.temperature:
            weights = distribution_at(probabilities, self.temperature)
            index = int(numpy.random.default_rng(request.seed).choice(len(weights), p=weights))
        return env.dialect.format(featurizer.take(index))


def load_replies(run: Path, *, temperature: float = 0.0) -> SB3Replies:
    """Load the model of a run. Only tensors are loaded, since pickled objects in the library's file could execute code.

    Raises:
        CheckpointError: The run contains no model of `agents.train_sb3`.

    """
    record = agent_record(run)
    try:
        algorithm, policy = _ALGORITHMS[record["algorithm"]]
        parameters: Any
        _, parameters, _ = load_from_zip_file(run / MODEL, device="cpu", load_data=False)
        width = parameters["policy"]["features_extractor.page.weight"].shape[0]
        scorer = {"features_extractor_class": CandidateScorer, "features_extractor_kwargs": {"width": width}}
        model = algorithm(policy, None, policy_kwargs=scorer, device="cpu", _init_setup_model=False)
        model.observation_space, model.action_space = observation_space(record["candidates"]), Discrete(record["candidates"])
        model.n_envs = 1
        model._setup_model()  # noqa: SLF001 - as the library's own `load` does
        model.set_parameters(parameters, device="cpu")
    except (OSError, LookupError, TypeError, ValueError, AttributeError, RuntimeError, UnpicklingError) as error:
        raise CheckpointError(f"{run / MODEL} is not a model of train_sb3: {str(error).splitlines()[0][:200]}") from error
    return SB3Replies(model, record["candidates"], temperature)


def _create_model(settings: SB3Settings, envs: VecMonitor) -> Any:
    """Return the run's saved model, or a new one. Raises ValueError if the run was started with other settings."""
    algorithm, policy = _ALGORITHMS[settings.algorithm]
    options: dict[str, Any] = {
        "learning_rate": settings.learning_rate, "n_steps": settings.steps_per_update, "batch_size": settings.batch,
        "n_epochs": settings.epochs, "gamma": settings.discount, "ent_coef": settings.entropy_weight, "seed": settings.seed,
    }  # fmt: skip
    lock_folder(settings.out)
    is_resumed = (settings.out / MODEL).is_file()
    record_settings(settings.out, fixed_options(settings), is_resumed=is_resumed, defaults=option_defaults(settings))
    scorer = {"width": settings.width, "prior": settings.prior}
    kwargs = {"features_extractor_class": CandidateScorer, "features_extractor_kwargs": scorer}
    model = algorithm(policy, envs, policy_kwargs=kwargs, device="cpu", **options)
    if is_resumed:  # without the library's `load`, which unpickles
        model.set_parameters(settings.out / MODEL, device="cpu")
        with ZipFile(settings.out / MODEL) as file:
            model.num_timesteps = int(json.loads(file.read("data"))["num_timesteps"])
    model.set_logger(Logger(None, []))  # its values are written to the metrics of the run
    return model


def _save(model: PPO | MaskablePPO, settings: SB3Settings) -> None:
    """Write the model to a temporary file and rename it, so that a kill leaves either the old or the new file."""
    settings.out.mkdir(parents=True, exist_ok=True)
    temporary = settings.out / f".unfinished_{MODEL}"
    with writing(settings.out / AGENT):
        (settings.out / AGENT).write_text(json.dumps(settings.agent()), encoding="utf-8")
    with writing(settings.out / MODEL):
        model.save(temporary)
        temporary.replace(settings.out / MODEL)
