"""Composes reviews, forum threads and issues from facts and phrasings, without a language model.

A frozen dataclass contains all facts of a text, so tasks can ask about a text whose meaning is known. A `compose_...` function
writes the text. Generators of worlds store the facts in tables, or draw them again from the same `Dice`.

| text | facts | composed by | drawn by |
|---|---|---|---|
| review | `ReviewFacts` of a `Thing` with `Opinion`s | `compose_review` | `draw_review` |
| forum post | `Question`, `Opening`, `Report` | `compose_post` | `draw_discussion` |
| forum comment | `Answer`, `Thanks`, `Position`, `Impression`, `Detail`, `Chatter` | `compose_comment` | `draw_discussion` |
| issue and comment on it | `Bug` of a `Defect`, `Wish`; `Note` | `compose_issue`, `compose_note` | `draw_defect`, `draw_wish` |
| merge request, comment on it | `Request`; `Remark` | `compose_request`, `compose_remark` | `draw_defect`, `draw_choice` |

All functions depend only on the facts, a `Dice`, and whether the world is held out. Training worlds and held-out worlds use disjoint
pools of phrasings, problems, debates and defects.

>>> from webarena_gym.sites.country.dice import Dice
>>> from webarena_gym.sites.prose.reviews import Opinion, ReviewFacts, compose_review
>>> from webarena_gym.sites.prose.things import Thing
>>> bottle = Thing("Water Bottle", brand="Bako", attributes=(("Material", "Tritan"),))
>>> leaks = Opinion(aspect="leak", is_good=False, voice="ironic")
>>> facts = ReviewFacts(thing=bottle, rating=2, opinions=(leaks,), use="at the gym", outcome="returned", because="leak")
>>> text = compose_review(facts, Dice("an example"), is_held_out=False).body
>>> facts.verdict("leak"), facts.complaints, "at the gym" in text
(False, ('leak',), True)

To add a phrasing, add a line to a file in `data`, in the notation of `grammar`. To add a kind of product, add a noun to
`data/things.txt`. This package is independent of sites, databases and tasks.
"""
