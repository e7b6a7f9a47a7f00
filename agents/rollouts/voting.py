"""Voting: several policies are asked for the same reply, and the action with the largest sum of weights is taken."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from agents.models.ensembles import Weights, situation_of
from agents.rollouts.policies import Policy, Reply, Request
from webarena_gym.actions.replies import answer_part


@dataclass
class VotingPolicy:
    """Policies that vote on actions; of equal sums, the action of the earlier policy is taken.

    For policies that read the conversation at each step, such as language models and chat models: what was done before is in it,
    whoever proposed it. A reply that failed has no vote, unless all failed.
    """

    members: Sequence[Policy]
    weights: Weights
    _open: dict[int, Request] = field(default_factory=dict)  # by slot
    _votes: dict[int, dict[int, Reply]] = field(default_factory=dict)  # by slot and member

    def ask(self, requests: Sequence[Request]) -> None:
        """Ask all members."""
        for request in requests:
            self._open[request.slot] = request
            self._votes[request.slot] = {}
        for member in self.members:
            member.ask(requests)

    def replies(self, timeout_s: float | None = None) -> list[tuple[int, Reply]]:
        """Return the replies on which all members have voted."""
        for number, member in enumerate(self.members):
            if any(number not in votes for votes in self._votes.values()):
                for slot, reply in member.replies(timeout_s):
                    self._votes[slot][number] = reply
        whole = [slot for slot, votes in self._votes.items() if len(votes) == len(self.members)]
        return [(slot, self._count(self._open.pop(slot), self._votes.pop(slot))) for slot in whole]

    def close(self) -> None:
        """Close all members."""
        for member in self.members:
            member.close()

    def _count(self, request: Request, votes: dict[int, Reply]) -> Reply:
        weights = self.weights.of(situation_of(request.info["page"]))
        sums: dict[str, float] = {}
        first: dict[str, Reply] = {}
        for number, reply in sorted(votes.items()):
            if not (reply.failure or reply.too_long):
                action = answer_part(reply.text)
                sums[action] = sums.get(action, 0.0) + weights[number]
                first.setdefault(action, reply)
        return first[max(sums, key=sums.__getitem__)] if sums else votes[0]
