"""Changes to what is mine: my biography, settings, posts, comments and lists."""

from webarena_gym.tasks import template as t
from webarena_gym.templates.reddit.routes import ME, PER_PAGE, POSTS, my_name, open_post, turn_thread, word
from webarena_gym.templates.rows import Change
from webarena_gym.templates.ways import instruction

USER = "SELECT email, password, biography, night_mode, front_page FROM user WHERE user_id = ?"
ONE_LINE = "trim(replace(replace(replace(body, char(10), ' '), '  ', ' '), '  ', ' '))"
"""A text without its line breaks, so that it does not matter how many stand between two paragraphs."""

BIOGRAPHIES = (
    "Looking for work in {word}",
    "I am a robot from {word}",
    "Painter, baker, owner of {word} the cat",
    "Lives in {word}, dreams of the sea",
    "Here to learn about {word}",
)
LINES = (
    "EDIT: thanks to everybody in {word}",
    "Update: it was {word} all along",
    "PS: {word} is worth a look, too",
    "EDIT: this has aged well, ask {word}",
)


def biography(world: t.Sampler) -> t.Draw:
    """Say something new about me."""
    text, name = world.rng.choice(BIOGRAPHIES).format(word=word(world)), my_name(world)
    old = dict(world.rows(USER, ME)[0])
    return instruction(
        {"text": text},
        t.state(USER, ME, expected=[list({**old, "biography": text}.values())]),
        way=[t.click(name), t.click("Edit biography"), t.type_text("Biography", text), t.click("Save")],
        seen="The profile shows it.",
    )


def settings(world: t.Sampler) -> t.Draw:
    """Change one setting."""
    old = dict(world.rows(USER, ME)[0])
    email = f"{word(world)}@example.net".lower()
    wish, change, step = world.rng.choice(
        (
            (f"change the email address to {email}", {"email": email}, t.type_text("Email", email)),
            ("turn night mode on", {"night_mode": "on"}, t.choose("Night mode", "On")),
            ("turn night mode off for good", {"night_mode": "off"}, t.choose("Night mode", "Off")),
            ("make the front page show all forums", {"front_page": "all"}, t.choose("Front page", "All forums")),
            (
                "let the front page show what I moderate",
                {"front_page": "moderated"},
                t.choose("Front page", "Moderated forums"),
            ),
        )
    )
    return instruction(
        {"wish": wish},
        t.state(USER, ME, expected=[list({**old, **change}.values())]),
        way=[t.click(my_name(world)), t.click("Account settings"), step, t.click("Save changes")],
        seen="The settings are saved.",
    )


def add_line(world: t.Sampler) -> t.Draw:
    """Add to a post of mine."""
    posts = world.rows(f"SELECT * FROM submission WHERE user_id = {ME} AND state = 'visible' ORDER BY submission_id")
    row, line = world.rng.choice(posts), world.rng.choice(LINES).format(word=word(world))
    bodies = {post["submission_id"]: " ".join(post["body"].split()) for post in posts}
    bodies[row["submission_id"]] = f"{bodies[row['submission_id']]} {line}".strip()
    return instruction(
        {"title": row["title"], "line": line},
        t.state(
            f"SELECT submission_id, {ONE_LINE} FROM submission WHERE user_id = {ME} AND state = 'visible' ORDER BY submission_id",
            expected=[list(item) for item in sorted(bodies.items())],
        ),
        way=[
            *open_post(row["title"]),
            t.click("Edit"),
            t.type_text("Body", f"{row['body']}\n{line}".strip(), "The old text stays."),
            t.click("Save"),
        ],
        seen="The line is added.",
    )


delete_comment = Change(
    lambda world: world.pick(
        POSTS
        + f"""SELECT p.title, p.submission_id, min(c.comment_id) AS comment_id FROM posts p JOIN comment c USING (submission_id)
        WHERE c.user_id = {ME} AND c.state = 'visible' AND p.comments <= ?
        GROUP BY p.submission_id HAVING count(*) = 1 ORDER BY p.submission_id""",
        PER_PAGE,
    ),
    lambda world, row: t.state(
        row["query"], expected=[list(item) for item in world.rows(row["query"]) if item[0] != row["comment_id"]]
    ),
    way=lambda world, row: [*open_post(row["title"]), *turn_thread(world, row, row["comment_id"]), t.click("Delete comment")],
    seen="The comment is gone.",
    also={
        "query": lambda _, _row: (
            f"SELECT comment_id FROM comment WHERE user_id = {ME} AND state = 'visible' ORDER BY comment_id"
        )
    },
)


def delete_post(world: t.Sampler) -> t.Draw:
    """Take back what I posted."""
    query = f"SELECT submission_id FROM submission WHERE user_id = {ME} AND state = 'visible' ORDER BY submission_id"
    row = world.pick(f"SELECT * FROM submission WHERE user_id = {ME} AND state = 'visible' ORDER BY submission_id")
    return instruction(
        {"title": row["title"]},
        t.state(query, expected=[list(item) for item in world.rows(query) if item[0] != row["submission_id"]]),
        way=[*open_post(row["title"]), t.click("Delete")],
        seen="The post is gone.",
    )


hide = Change(
    POSTS + f"SELECT * FROM posts WHERE user_id != {ME} AND newest <= 10 ORDER BY submission_id",
    lambda _, row: t.state(row["query"], expected=[[post] for post in sorted([*row["hidden"], row["submission_id"]])]),
    way=[*open_post("{title}"), t.click("Hide")],
    seen="It is hidden.",
    also={
        "query": lambda _, _row: f"SELECT submission_id FROM hidden_submission WHERE user_id = {ME} ORDER BY submission_id",
        "hidden": lambda world, row: [item[0] for item in world.rows(row["query"])],
    },
)


def unhide(world: t.Sampler) -> t.Draw:
    """Show a hidden post again."""
    query = f"SELECT submission_id FROM hidden_submission WHERE user_id = {ME} ORDER BY submission_id"
    row = world.pick(
        f"""SELECT s.* FROM submission s JOIN hidden_submission h USING (submission_id)
        WHERE h.user_id = {ME} AND s.state = 'visible' ORDER BY submission_id"""
    )
    return instruction(
        {"title": row["title"]},
        t.state(query, expected=[list(item) for item in world.rows(query) if item[0] != row["submission_id"]]),
        way=[t.click(my_name(world)), t.click("Hidden submissions"), t.click(f"Unhide {row['title']}")],
        seen="It is back.",
    )
