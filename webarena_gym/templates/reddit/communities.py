"""Forums to make, to subscribe to and to look after."""

from typing import Any

from webarena_gym.tasks import template as t
from webarena_gym.templates.reddit.routes import ME, POSTS, comma_list, open_forum, open_post, word
from webarena_gym.templates.rows import Change
from webarena_gym.templates.ways import instruction

SUBSCRIPTIONS = f"SELECT forum_id FROM subscription WHERE user_id = {ME} ORDER BY forum_id"
OWN = f"SELECT f.* FROM forum f JOIN moderator m USING (forum_id) WHERE m.user_id = {ME} ORDER BY forum_id"
TOPICS = ("New", "Classic", "Questions", "Pictures", "Meetups", "Reviews", "Trades", "Random", "Events", "Recipes")
DESCRIPTIONS = (
    "A place for friends of {word}",
    "Everything about {word}",
    "{word} for beginners",
    "Welcome to the world of {word}",
)


def subscribed_to(world: t.Sampler, *, added: tuple[int, ...] = (), removed: tuple[int, ...] = ()) -> dict[str, Any]:
    """My subscriptions must be what they were, but for these forums."""
    forums = {row[0] for row in world.rows(SUBSCRIPTIONS)}
    return t.state(SUBSCRIPTIONS, expected=[[forum] for forum in sorted((forums | set(added)) - set(removed))])


def create_forum(world: t.Sampler) -> t.Draw:
    """Make a forum."""
    subject = word(world)
    topics = world.rng.sample(TOPICS, world.rng.randint(3, 5))
    name, title = f"{subject}_{world.rng.choice(('fans', 'club', 'talk'))}", f"Friends of {subject}"
    description = world.rng.choice(DESCRIPTIONS).format(word=subject)
    conditions = " AND ".join(["sidebar LIKE ?"] * len(topics))
    return instruction(
        {"name": name, "title": title, "description": description, "topics": comma_list(topics)},
        t.state(
            f"SELECT name, title, description, {conditions} FROM forum WHERE forum_id > ? ORDER BY forum_id",
            *(f"%{topic}%" for topic in topics),
            world.value("SELECT max(forum_id) FROM forum"),
            expected=[[name, title, description, 1]],
        ),
        way=[
            t.click("Create forum"),
            t.type_text("Name", name),
            t.type_text("Title", title),
            t.type_text("Description", description),
            t.type_text("Sidebar", "\n".join(topics)),
            t.click("Create forum"),
        ],
        seen="The forum is there.",
    )


subscription = Change(
    f"SELECT f.*, forum_id IN (SELECT forum_id FROM subscription WHERE user_id = {ME}) AS is_mine FROM forum f ORDER BY forum_id",
    lambda world, row: subscribed_to(world, **{"removed" if row["is_mine"] else "added": (row["forum_id"],)}),
    way=lambda _, row: [*open_forum(row["name"]), t.click(f"{row['change'].replace(' me', '')} {row['name']}")],
    seen="That is done.",
    also={"change": lambda _, row: "Unsubscribe me from" if row["is_mine"] else "Subscribe me to"},
    slots={"forum": "{name}"},
)


def subscribe_to_tag(world: t.Sampler) -> t.Draw:
    """Subscribe to several forums, to some of which I may be subscribed already."""
    row = world.pick("SELECT tag FROM forum_tag GROUP BY tag HAVING count(*) BETWEEN 2 AND 6 ORDER BY tag")
    mine = [item[0] for item in world.rows(SUBSCRIPTIONS)]
    forums = world.rows(
        "SELECT f.* FROM forum f JOIN forum_tag USING (forum_id) WHERE tag = ? ORDER BY title COLLATE NOCASE", row["tag"]
    )
    missing = [forum for forum in forums if forum["forum_id"] not in mine]
    if not missing:
        raise t.NothingToDraw(row["tag"])
    return instruction(
        {"tag": row["tag"]},
        subscribed_to(world, added=tuple(forum["forum_id"] for forum in missing)),
        way=[t.click("Tags"), t.click(row["tag"]), *(t.click(f"Subscribe to {forum['name']}") for forum in missing)],
        seen=f"These are all {len(forums)}.",
    )


def edit_forum(world: t.Sampler) -> t.Draw:
    """Change a text of my own forum."""
    row = world.pick(OWN)
    part = world.rng.choice(("title", "description", "sidebar"))
    text = world.rng.choice(DESCRIPTIONS).format(word=word(world))
    query = "SELECT name, title, description, sidebar FROM forum WHERE forum_id = ?"
    old = dict(world.rows(query, row["forum_id"])[0])
    return instruction(
        {"part": part, "text": text},
        t.state(query, row["forum_id"], expected=[list({**old, part: text}.values())]),
        way=[*open_forum(row["name"]), t.click("Edit forum"), t.type_text(part.capitalize(), text), t.click("Save changes")],
        seen="The forum has changed.",
    )


def add_moderator(world: t.Sampler) -> t.Draw:
    """Name another moderator of my own forum."""
    row = world.pick(OWN)
    query = "SELECT user_id FROM moderator WHERE forum_id = ? ORDER BY user_id"
    present = [item[0] for item in world.rows(query, row["forum_id"])]
    users = world.rows("SELECT user_id, username FROM user WHERE user_id IN (SELECT user_id FROM submission) ORDER BY user_id")
    user = world.rng.choice([user for user in users if user["user_id"] not in present])
    return instruction(
        {"user": user["username"]},
        t.state(query, row["forum_id"], expected=[[each] for each in sorted([*present, user["user_id"]])]),
        way=[
            *open_forum(row["name"]),
            t.click("Moderators"),
            t.type_text("Username", user["username"]),
            t.click("Add moderator"),
        ],
        seen="There is one more moderator.",
    )


def moderate(world: t.Sampler) -> t.Draw:
    """Lock, pin or remove a post of my own forum."""
    forum = world.pick(OWN)
    row = world.pick(
        POSTS + f"SELECT * FROM posts WHERE forum_id = ? AND user_id != {ME} AND NOT is_locked AND NOT is_sticky ORDER BY 1",
        forum["forum_id"],
    )
    change, column, value, label = world.rng.choice(
        (
            ("Lock", "is_locked", 1, "Lock"),
            ("Remove", "state", "removed", "Remove"),
            ("Make sticky", "is_sticky", 1, "Make sticky"),
        )
    )
    query = "SELECT submission_id, state, is_locked, is_sticky FROM submission WHERE forum_id = ? ORDER BY submission_id"
    expected = [
        list({**dict(post), column: value}.values()) if post["submission_id"] == row["submission_id"] else list(post)
        for post in world.rows(query, forum["forum_id"])
    ]
    return instruction(
        {"change": change, "title": row["title"]},
        t.all_of(t.state(query, forum["forum_id"], expected=expected)),
        way=[*open_post(row["title"]), t.click(label)],
        seen="That is done.",
    )
