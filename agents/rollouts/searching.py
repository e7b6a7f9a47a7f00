"""A collector that searches: at each step several replies are tried from a snapshot, and one of them is kept.

The env's snapshots make it possible. What is kept is drawn, so the probability with which it was kept is known, and the learner can correct
for it: where reply j of N is kept with probability p_j, 1 / (N p_j) is the importance weight of its step. Its expectation over the
draw of any function of the kept reply is the mean over the N replies, hence, whatever the scores are, the policy's own expectation.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import exp
from random import Random
from statistics import fmean
from typing import Any, Literal, NamedTuple

from agents.data.trajectories import Step, Trajectory
from agents.rollouts.collector import Collector, Played, sampling_seed
from agents.rollouts.envs import InProcessEnvs
from agents.rollouts.policies import CountingPolicy, Reply, Request, resume
from agents.settings import EnvSettings
from webarena_gym.vector import Result

Choice = Literal["best", "diverse"]
"""Keep rather what leads to states of high value, or to pages that the group's rollouts have not seen."""


class Reached(NamedTuple):
    """A state that a tried reply led to: the episode until then, and what the env says of the new page."""

    episode: Trajectory
    info: Mapping[str, Any]


Values = Callable[[Sequence[Reached]], list[float]]
"""Returns the value of each state, from 0 to 1."""


class _Tried(NamedTuple):
    """Outcome of a reply, and a snapshot of the env after it; None if the env still is in that state, or the episode is over."""

    result: Result
    snapshot: Any


class SearchingCollector(Collector):
    """Plays episodes with a search at each step, in envs of this process, which have snapshots.

    `width` replies are tried at each step, equal ones once. Of them one is drawn by the softmax of its score, which is 0 to 1, divided by
    `temperature`. It has the interface of a `Collector`. It counts the env steps of all tries in `replied`, since these are what the search costs.
    """

    def __init__(
        self,
        envs: InProcessEnvs,
        policy: CountingPolicy,
        values: Values,
        *,
        width: int = 4,
        choice: Choice = "best",
        temperature: float = 0.2,
        seed: int = 0,
        env: EnvSettings | None = None,
    ) -> None:
        super().__init__(envs, policy, seed=seed, env=env)
        self.replied = 0
        self._local = envs
        self._counted = policy
        self._width, self._choice, self._temperature = width, choice, temperature
        self._values = values
        self._seen: dict[int, Counter[str]] = {}  # by group, how often its rollouts have come to a page

    @property
    def generated_tokens(self) -> int:
        """The tokens of all replies."""
        return self._counted.generated_tokens

    @property
    def cpu_s(self) -> float:
        """CPU time in other processes."""
        return self._counted.cpu_s

    def play(self) -> Iterator[Played]:
        """Play the queued episodes, and yield each when it is over. More may be queued meanwhile."""
        self._note_time(paused=True)
        while (self._waiting or self._playing or self._over) and not self._stopped.is_set():
            while self._over:
                yield self._over.popleft()
            self._enter_envs()
            for env_id, result in self._local.poll().items():
                self._playing[env_id].info = result.info
                if failure := result.info.get("failure"):
                    self._finish(env_id, "failed", failure=str(failure))
            self._seen = {group: seen for group, seen in self._seen.items() if group in self._groups()}
            if self._playing:
                self._take_step()

    def _groups(self) -> set[int]:
        return {item.episode.group for item in self._playing.values()} | {item.group for item in self._waiting}

    def _take_step(self) -> None:
        """Let every episode take one step: ask for replies, try them, score what they led to, and keep one of each."""
        replies = self._ask_for_several()
        tried: dict[int, dict[str, _Tried]] = {}
        for env_id, own in replies.items():
            if failure := next((reply.failure for reply in own if reply.failure), ""):
                self._finish(env_id, "failed", failure=failure)
            elif own[0].too_long:
                self._playing[env_id].policy_version = own[0].policy_version
                self._finish(env_id, "too_long")
            else:
                tried[env_id] = self._try(env_id, list(dict.fromkeys(reply.text for reply in own)))
        self._note_time()
        scores = self._score(tried, replies)
        for env_id, results in tried.items():
            if failure := next((item.result.info["failure"] for item in results.values() if "failure" in item.result.info), ""):
                self._finish(env_id, "failed", failure=str(failure))
            else:
                self._keep(env_id, replies[env_id], results, scores)

    def _ask_for_several(self) -> dict[int, list[Reply]]:
        """Return as many replies of the policy in each episode as the search is wide."""
        width = self._width
        requests = []
        for env_id, playing in self._playing.items():
            playing.stage = "generation"
            for number in range(width):
                slot = env_id * width + number
                resume(self._policy, slot, playing.episode.task.intent, playing.steps)
                seed = sampling_seed(self._seed, playing.episode.number, len(playing.steps) * width + number)
                requests.append(Request(slot, self._local.local(env_id), playing.info, seed))
        self._policy.ask(requests)
        found: dict[int, Reply] = {}
        while len(found) < len(requests):
            found.update(self._policy.replies())
        self._note_time()
        for playing in self._playing.values():
            playing.stage = "env"
        return {env_id: [found[env_id * width + number] for number in range(width)] for env_id in self._playing}

    def _try(self, env_id: int, texts: Sequence[str]) -> dict[str, _Tried]:
        """Return what comes of each of these replies in an env."""
        env = self._local.local(env_id)
        before = env.snapshot() if len(texts) > 1 else None
        found: dict[str, _Tried] = {}
        for text in texts:
            if found:
                env.restore(before)
            self._local.send([text], [env_id])
            result = self._local.poll()[env_id]
            self.replied += 1
            is_left = text != texts[-1] and not (result.terminated or result.truncated)
            found[text] = _Tried(result, env.snapshot() if is_left else None)
            if "failure" in result.info:
                break
        return found

    def _score(
        self, tried: Mapping[int, Mapping[str, _Tried]], replies: Mapping[int, Sequence[Reply]]
    ) -> dict[tuple[int, str], float]:
        """Return the score of what each reply led to: the reward of an episode that is over, else the value of its state."""
        scores: dict[tuple[int, str], float] = {}
        open_states: dict[tuple[int, str], Reached] = {}
        for env_id, results in tried.items():
            for text, (result, _) in results.items() if len(results) > 1 else ():
                if result.terminated or result.truncated:
                    scores[env_id, text] = result.reward
                else:
                    reply = next(reply for reply in replies[env_id] if reply.text == text)
                    open_states[env_id, text] = Reached(self._episode(env_id, reply, result), result.info)
        if open_states:
            scores |= zip(open_states, self._values(list(open_states.values())), strict=True)
        return scores

    def _episode(self, env_id: int, reply: Reply, result: Result) -> Trajectory:
        playing = self._playing[env_id]
        steps = (*playing.steps, self._step(env_id, reply, result))
        return Trajectory(playing.episode.task.task_id, playing.episode.task.intent, steps, 0.0, "truncated", env=self._env)

    def _step(self, env_id: int, reply: Reply, result: Result) -> Step:
        page, error = str(self._playing[env_id].info["page"]), str(result.info["action_error"])
        return reply.step(page, error)

    def _keep(
        self,
        env_id: int,
        replies: Sequence[Reply],
        tried: Mapping[str, _Tried],
        scores: Mapping[tuple[int, str], float],
    ) -> None:
        """Draw one of the replies by what it led to, and let the episode go on from there."""
        playing = self._playing[env_id]
        seen = self._seen.setdefault(playing.episode.group, Counter())
        pages = {text: str(item.result.info["page"]) for text, item in tried.items()}
        values = {text: scores.get((env_id, text), 0.0) for text in tried}
        own = {text: 1 / (1 + seen[pages[text]]) for text in tried} if self._choice == "diverse" else values
        rng = Random(f"{self._seed}/{playing.episode.number}/{len(playing.steps)}/kept")
        number, importance = draw([own[reply.text] for reply in replies], self._temperature, rng)
        reply = replies[number]
        result, snapshot = tried[reply.text]
        seen[pages[reply.text]] += 1
        playing.policy_version = min(
            reply.policy_version, reply.policy_version if playing.policy_version is None else playing.policy_version
        )
        gain = values[reply.text] - fmean(values[each.text] for each in replies)
        playing.steps.append(replace(self._step(env_id, reply, result), importance=importance, gain=gain))
        playing.info = result.info
        if result.terminated or result.truncated:
            self._finish(env_id, "exited" if result.terminated else "truncated", result.reward)
        elif snapshot is not None:
            self._local.local(env_id).restore(snapshot)


def draw(scores_N: Sequence[float], temperature: float, rng: Random) -> tuple[int, float]:
    """Return the place of one of N scores, drawn by the softmax of score / temperature, and its importance weight 1 / (N p).

    >>> draw([0.5, 0.5], 1.0, Random(0))[1]
    1.0
    """
    highest = max(scores_N)
    masses = [exp((score - highest) / temperature) for score in scores_N]
    (place,) = rng.choices(range(len(masses)), masses)
    return place, sum(masses) / (len(masses) * masses[place])
