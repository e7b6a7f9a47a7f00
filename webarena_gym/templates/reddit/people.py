"""Other people: messages to them, and blocking them."""

from typing import Any

from webarena_gym.tasks import template as t
from webarena_gym.templates.reddit.routes import ME, POSTS, my_name, open_post, open_user, word
from webarena_gym.templates.ways import instruction

TEMPLATES = t.Templates("reddit")
BLOCKED = f"SELECT blocked_id FROM user_block WHERE user_id = {ME} ORDER BY blocked_id"
MESSAGES = (
    "Are you going to the {word} fair?",
    "Thank you for your post about {word}!",
    "Please tell me more about {word}.",
    "Would you sell me your {word}?",
)


def blocked(world: t.Sampler, user_id: int, *, is_added: bool) -> dict[str, Any]:
    """Those whom I have blocked must be the same, with or without one."""
    others = [row[0] for row in world.rows(BLOCKED) if row[0] != user_id]
    return t.state(BLOCKED, expected=[[each] for each in sorted([*others, user_id] if is_added else others)])


def sent(world: t.Sampler, other_id: int, text: str) -> dict[str, Any]:
    """Exactly one new message must be there, of mine, in a conversation with that user."""
    return t.state(
        """SELECT m.sender_id, m.body, ? IN (t.sender_id, t.receiver_id) FROM message m JOIN message_thread t USING (thread_id)
        WHERE m.message_id > ? ORDER BY m.message_id""",
        other_id,
        world.value("SELECT max(message_id) FROM message"),
        expected=[[ME, text, 1]],
    )


@TEMPLATES.define('Block the user who posted "{title}".')
def block(world: t.Sampler) -> t.Draw:
    """Block somebody by what they posted."""
    row = world.pick(POSTS + f"SELECT * FROM posts WHERE user_id != {ME} ORDER BY submission_id")
    return instruction(
        {"title": row["title"]},
        blocked(world, row["user_id"], is_added=True),
        way=[*open_post(row["title"]), t.click(row["author"]), t.click(f"Block {row['author']}")],
        seen=f"{row['author']} is blocked.",
    )


@TEMPLATES.define("Take {user} off my block list.")
def unblock(world: t.Sampler) -> t.Draw:
    """Let somebody be seen again."""
    row = world.pick(f"SELECT u.* FROM user u JOIN user_block b ON b.blocked_id = u.user_id WHERE b.user_id = {ME} ORDER BY 1")
    return instruction(
        {"user": row["username"]},
        blocked(world, row["user_id"], is_added=False),
        way=[t.click(my_name(world)), t.click("Block list"), t.click(f"Unblock {row['username']}")],
        seen="They are off the list.",
    )


@TEMPLATES.define('Send {user} the private message "{text}"')
def message(world: t.Sampler) -> t.Draw:
    """Write to somebody."""
    row = world.pick(
        f"SELECT * FROM user WHERE user_id != {ME} AND user_id IN (SELECT user_id FROM submission) ORDER BY user_id"
    )
    text = world.rng.choice(MESSAGES).format(word=word(world))
    return instruction(
        {"user": row["username"], "text": text},
        sent(world, row["user_id"], text),
        way=[*open_user(row["username"]), t.click("Send message"), t.type_text("Message", text), t.click("Send message")],
        seen="The message is sent.",
    )


@TEMPLATES.define('Answer the message that I have not read yet with "{text}"')
def answer_message(world: t.Sampler) -> t.Draw:
    """Answer the one unread message."""
    row = world.pick(
        f"""SELECT u.* FROM message m JOIN message_thread t USING (thread_id) JOIN user u ON u.user_id = m.sender_id
        WHERE {ME} IN (t.sender_id, t.receiver_id) AND m.sender_id != {ME} AND NOT m.is_read
        GROUP BY u.user_id ORDER BY u.user_id"""
    )
    unread = world.value(
        f"""SELECT count(*) FROM message m JOIN message_thread t USING (thread_id)
        WHERE {ME} IN (t.sender_id, t.receiver_id) AND m.sender_id != {ME} AND NOT m.is_read"""
    )
    text = world.rng.choice(MESSAGES).format(word=word(world))
    return instruction(
        {"text": text},
        sent(world, row["user_id"], text),
        way=[
            t.click(f"Messages ({unread})"),
            t.click(f"Conversation with {row['username']}"),
            t.type_text("Message", text),
            t.click("Reply"),
        ],
        seen="The answer is sent.",
    )
