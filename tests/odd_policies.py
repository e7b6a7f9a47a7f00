"""Policies that reply as no engine would, for the tests of those who ask them."""

from agents.rollouts.policies import Reply
from tests import tiny


def right(request):
    """Return the reply that solves a tiny task."""
    return Reply(tiny.reply_to(tiny.target_of(request)))


class OneByOne:
    """Replies to one request at a time, the newest or the oldest first; `most` is how many have waited at once."""

    def __init__(self, reply=right, *, newest_first=True):
        self.reply, self.newest_first = reply, newest_first
        self.requests, self.most = [], 0

    def ask(self, requests):
        self.requests += requests
        self.most = max(self.most, len(self.requests))

    def replies(self, timeout_s=None):
        if not self.requests:
            return []
        request = self.requests.pop(-1 if self.newest_first else 0)
        return [(request.slot, self.reply(request))]

    def close(self):
        """Nothing to close."""


class Same:
    """Replies the same to every request."""

    def __init__(self, reply):
        self.reply, self.slots = reply, []

    def ask(self, requests):
        self.slots = [request.slot for request in requests]

    def replies(self, _timeout_s=None):
        return [(slot, self.reply) for slot in self.slots]
