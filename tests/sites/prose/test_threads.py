"""Threads of forums state their facts."""

from functools import partial

from tests.sites.prose.drawn import HALVES, drawn_threads
from webarena_gym.sites.country.dice import Dice
from webarena_gym.sites.prose import threads


@HALVES
def test_threads_hold_together(is_held_out):
    kinds = set()
    for thread, _, _ in drawn_threads(150, is_held_out):
        answered = [said.author for said in thread.comments if isinstance(said.facts, threads.Answer)]
        assert len(set(answered)) == len(answered)
        sides = {thread.author: thread.post.side.text} if isinstance(thread.post, threads.Opening) else {}
        for place, said in enumerate(thread.comments):
            assert said.parent is None or said.parent < place
            kinds.add((type(said.facts).__name__, getattr(said.facts, "kind", "")))
            if isinstance(said.facts, threads.Thanks):
                answer = thread.comments[said.parent]
                assert (answer.author, answer.facts.remedy) == (said.facts.user, said.facts.remedy)
                assert said.author == thread.author
                assert said.facts.remedy not in thread.post.tried
            if isinstance(said.facts, threads.Position):
                if said.facts.kind == "changed":
                    assert sides[said.author] == said.facts.side.opposite
                    assert sides[said.facts.user] == said.facts.side.text
                if said.facts.kind in ("agree", "disagree"):
                    assert (sides[said.facts.user] == said.facts.side.text) is (said.facts.kind == "agree")
                sides[said.author] = said.facts.side.text
        thanked = [said for said in thread.comments if isinstance(said.facts, threads.Thanks) and said.facts.has_helped]
        assert len(thanked) <= 1
    assert len(kinds) == 12  # all kinds of comments occur


@HALVES
def test_threads_contain_their_facts_and_titles_respect_their_limit(is_held_out):
    for thread, post, comments in drawn_threads(80, is_held_out):
        compose = partial(threads.compose_post, thread.post, is_held_out=is_held_out)
        titles = [compose(Dice("short"), longest_title=longest).title for longest in (60, 200)]
        assert len(titles[0]) <= max(60, len(titles[1]))
        assert thread.post.place in post.body
        if isinstance(thread.post, threads.Question):
            assert thread.post.problem.name.lower() in post.title.lower().replace("n't", " not") or "'" in post.title
        for said, text in zip(thread.comments, comments, strict=True):
            if getattr(said.facts, "user", ""):
                assert f"@{said.facts.user}" in text
            if getattr(said.facts, "heard_from", ""):
                assert said.facts.heard_from in text.lower()
