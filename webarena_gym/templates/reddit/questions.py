"""Questions about posts, people and forums; pages to open; messages to people, and blocking them."""

from typing import Any

from webarena_gym.sites.reddit.queries import PERIODS as PERIODS
from webarena_gym.sites.reddit.queries import SORTS as SORTS
from webarena_gym.sites.reddit.queries import WITH_PERIOD as WITH_PERIOD
from webarena_gym.tasks import template as t
from webarena_gym.tasks.grounds import says
from webarena_gym.tasks.task import Step
from webarena_gym.templates.reddit import ME, POSTS, TEXTS, open_best, word
from webarena_gym.templates.ways import impossible, question

TEN = 10
NO_TIE = "(SELECT count(*) FROM posts other WHERE other.forum_id = p.forum_id AND other.score = p.score) = 1"


def best_of(world: t.Sampler, forum_id: int) -> list[t.Row]:
    """Return the ten best posts of a forum. Raises NothingToDraw when a tie decides who is the tenth."""
    rows = world.rows(POSTS + "SELECT * FROM posts WHERE forum_id = ? ORDER BY best LIMIT ?", forum_id, TEN + 1)
    t.skip_if(len(rows) <= TEN or rows[-1]["score"] == rows[-2]["score"], "the ten best")
    return rows[:TEN]


def mention(world: t.Sampler) -> t.Draw:
    """Find the one good post that speaks of something."""
    forum = world.pick("SELECT * FROM forum ORDER BY forum_id")
    rows = best_of(world, forum["forum_id"])
    found = [
        (row, " ".join(pair))
        for row in rows
        for pair in _names(row["body"])
        if sum(" ".join(pair) in f"{other['title']} {other['body']}" for other in rows) == 1
    ]
    t.skip_if(not found, forum["name"])
    row, name = world.rng.choice(found)
    return question(
        {"forum": forum["name"], "name": name},
        row["author"],
        way=[*open_best(forum["name"]), *_reading(rows, rows.index(row))],
        seen=f"{row['author']} mentions {name}.",
        wrong=[next(other["author"] for other in rows if other["author"] != row["author"])],
    )


def _names(text: str) -> list[tuple[str, ...]]:
    """Return the names of two words or more that a text has inside of its sentences."""
    names: list[tuple[str, ...]] = []
    for sentence in text.replace("\n", " ").split(". "):
        words = sentence.strip(" .?!").split()
        run: list[str] = []
        for each in [*words[1:], ""]:
            if each[:1].isupper() and each != "I":
                run.append(each.strip(",;:"))
            else:
                names += [tuple(run)] if len(run) > 1 else []
                run = []
    return names


def _reading(rows: list[t.Row], place: int) -> list[Step]:
    """Return the steps that open posts of a list that have a text, one after the other, up to one of them."""
    steps: list[Step] = []
    for row in rows[: place + 1]:
        steps += [t.click(row["title"])] if row is rows[place] else [t.click(row["title"]), t.back("Nothing about it here.")]
    return steps


def mention_of_nothing(world: t.Sampler) -> t.Draw:
    """Look for something that nobody has written about."""
    forum = world.pick("SELECT * FROM forum ORDER BY forum_id")
    rows, name = best_of(world, forum["forum_id"]), word(world)
    t.skip_if(any(name in f"{row['title']} {row['body']}" for row in rows), name)
    return impossible(
        {"forum": forum["name"], "name": f"The {name} Chronicles"},
        says("No submission and no comment has all of these words"),
        way=[t.search("Search query", f"The {name} Chronicles")],
        seen="Nobody has written about it at all.",
        wrong=[rows[0]["author"]],
    )


SPANS = {"week": "the past week", "month": "the past month", "year": "the past year", "all": "all time"}


UNREAD = f"{ME} IN (t.sender_id, t.receiver_id) AND m.sender_id != {ME} AND NOT m.is_read"
SHOWN = "c.user_id = :user_id AND c.state = 'visible' AND s.state = 'visible'"
OF_TAG = """SELECT f.name, (SELECT count(*) FROM subscription x WHERE x.forum_id = f.forum_id) AS subscribers
    FROM forum f JOIN forum_tag USING (forum_id) WHERE tag = :tag ORDER BY subscribers DESC, f.name"""
SPEAKERS = """SELECT u.username, c.up - c.down AS score FROM comment c JOIN user u USING (user_id)
    WHERE submission_id = :submission_id AND state = 'visible' ORDER BY score DESC, comment_id"""
BLOCKED = f"SELECT blocked_id FROM user_block WHERE user_id = {ME} ORDER BY blocked_id"


def blocked(world: t.Sampler, user_id: int, *, is_added: bool) -> dict[str, Any]:
    """Those whom I have blocked must be the same, with or without one."""
    others = [row[0] for row in world.rows(BLOCKED) if row[0] != user_id]
    return t.state(BLOCKED, expected=[[each] for each in sorted([*others, user_id] if is_added else others)])


def private_message(world: t.Sampler) -> str:
    """Return something to say to one person."""
    return str(world.rng.choice(TEXTS["messages"]).format(word=word(world)))


def sent(world: t.Sampler, other_id: int, text: str) -> dict[str, Any]:
    """Exactly one new message must be there, of mine, in a conversation with that user."""
    return t.state(
        """SELECT m.sender_id, m.body, ? IN (t.sender_id, t.receiver_id) FROM message m JOIN message_thread t USING (thread_id)
        WHERE m.message_id > ? ORDER BY m.message_id""",
        other_id,
        world.value("SELECT max(message_id) FROM message"),
        expected=[[ME, text, 1]],
    )
