"""Several pointing networks as one: the probabilities of a question's candidates are averaged, with the weights of its situation."""

from collections.abc import Sequence

import torch
from torch import nn

from agents.models.ensembles import Weights
from agents.models.pointer.interning import Texts
from agents.models.pointer.network import PointerNetwork, Scores, Vocabulary
from agents.models.pointer.sessions import Question

_HOST = "#host_"


class PointerEnsemble(nn.Module):
    """Networks, each with words of its own, whose scores are the logarithm of their mean probabilities.

    All of them are asked the same question, so the mean is one over the same candidates (Boltzmann addition, as LLM-Ens calls it).
    """

    def __init__(self, members: Sequence[tuple[PointerNetwork, Vocabulary]], weights: Weights) -> None:
        super().__init__()
        if any(network.memory is not None for network, _ in members):
            raise ValueError("a member reads a memory of steps; expected networks without memory in an ensemble")
        self.networks = nn.ModuleList(network for network, _ in members)
        self._vocabularies = [vocabulary for _, vocabulary in members]
        self._weights = weights

    def forward(self, questions: Sequence[Question], texts: Texts, vocabulary: Vocabulary) -> Scores:  # noqa: ARG002 - each has its own
        """Return the logarithm of the weighted mean of the networks' probabilities, for questions of one stage."""
        scored = [
            network(questions, texts, own).logprobs() for network, own in zip(self.networks, self._vocabularies, strict=True)
        ]
        found = []
        for number, question in enumerate(questions):
            voices = torch.tensor(self._weights.of(_situation(question, texts)))
            logprobs = torch.stack([own[number] for own in scored])
            found.append((logprobs + (voices / voices.sum()).log()[:, None]).logsumexp(0))
        return Scores(torch.cat(found), tuple(map(len, found)))


def _situation(question: Question, texts: Texts) -> str:
    """Return the host of the page that a question is about, as its context names it."""
    return texts.known[int(question.context.slots[1])].rpartition(_HOST)[2]
