"""Texts that a world is written in: reviews, forum threads, issues; composed from facts, without a model.

Facts come first. A frozen dataclass holds all that a text says, so that what is true of a text is known without reading it;
a `compose_...` function says it. Whoever builds a world keeps the facts in its tables (or draws them again), and asks about them.

| text | facts | composed by | drawn by |
|---|---|---|---|
| review | `ReviewFacts` of a `Thing` with `Opinion`s | `compose_review` | `draw_review` |
| forum post | `Question`, `Opening`, `Report` | `compose_post` | `draw_discussion` |
| forum comment | `Answer`, `Thanks`, `Stand`, `Impression`, `Detail`, `Chatter` | `compose_comment` | `draw_discussion` |
| issue and comment on it | `Bug` of a `Defect`, `Wish`; `Note` | `compose_issue`, `compose_note` | `draw_defect`, `draw_wish` |
| merge request, comment on it | `Request`; `Remark` | `compose_request`, `compose_remark` | `draw_defect`, `draw_choice` |

All functions are pure: they take facts, a `Dice`, and whether the world is held out. Training worlds and held-out worlds use
disjoint pools of phrasings, problems, debates and defects.

>>> from webarena_gym.sites.country.dice import Dice
>>> from webarena_gym.sites.prose.reviews import Opinion, ReviewFacts, compose_review
>>> from webarena_gym.sites.prose.things import Thing
>>> bottle = Thing("Water Bottle", brand="Bako", attributes=(("Material", "Tritan"),))
>>> leaks = Opinion(aspect="leak", is_good=False, voice="ironic")
>>> facts = ReviewFacts(thing=bottle, rating=2, opinions=(leaks,), use="at the gym", outcome="returned", because="leak")
>>> text = compose_review(facts, Dice("an example"), is_held_out=False).body
>>> facts.verdict("leak"), facts.complaints, "at the gym" in text
(False, ('leak',), True)

A new phrasing is a line of a file in `data` (the grammar is told in `grammar`); a new kind of thing is a noun in
`data/things.txt`. This package knows no site, no database and no task.
"""
