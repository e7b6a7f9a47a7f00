"""Threads of forums state their facts."""

from functools import partial

from tests.sites.prose.drawn import HALVES, drawn_threads
from webarena_gym.sites.country.dice import Dice
from webarena_gym.sites.prose import threads


@HALVES
def test_threads_hold_together(is_held_out):
    kinds = set()
    for thread, _, _ in drawn_threads(150, is_held_out):
        answered = [comment.author for comment in thread.comments if isinstance(comment.facts, threads.Answer)]
        assert len(set(answered)) == len(answered)
        sides = {thread.author: thread.post.side.text} if isinstance(thread.post, threads.Opening) else {}
        for place, comment in enumerate(thread.comments):
            assert comment.parent is None or comment.parent < place
            kinds.add((type(comment.facts).__name__, getattr(comment.facts, "kind", "")))
            if isinstance(comment.facts, threads.Thanks):
                answer = thread.comments[comment.parent]
                assert (answer.author, answer.facts.remedy) == (comment.facts.user, comment.facts.remedy)
                assert comment.author == thread.author
                assert comment.facts.remedy not in thread.post.tried
            if isinstance(comment.facts, threads.Position):
                if comment.facts.kind == "changed":
                    assert sides[comment.author] == comment.facts.side.opposite
                    assert sides[comment.facts.user] == comment.facts.side.text
                if comment.facts.kind in ("agree", "disagree"):
                    assert (sides[comment.facts.user] == comment.facts.side.text) is (comment.facts.kind == "agree")
                sides[comment.author] = comment.facts.side.text
        thanked = [
            comment for comment in thread.comments if isinstance(comment.facts, threads.Thanks) and comment.facts.has_helped
        ]
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
        for comment, text in zip(thread.comments, comments, strict=True):
            if getattr(comment.facts, "user", ""):
                assert f"@{comment.facts.user}" in text
            if getattr(comment.facts, "heard_from", ""):
                assert comment.facts.heard_from in text.lower()
