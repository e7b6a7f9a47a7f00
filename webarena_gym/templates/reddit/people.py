"""Other people: messages to them, and blocking them."""

from typing import Any

from webarena_gym.tasks import template as t
from webarena_gym.templates.reddit.routes import ME, POSTS, my_name, open_post, open_user, word
from webarena_gym.templates.rows import Change
from webarena_gym.templates.ways import instruction

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


block = Change(
    POSTS + f"SELECT * FROM posts WHERE user_id != {ME} ORDER BY submission_id",
    lambda world, row: blocked(world, row["user_id"], is_added=True),
    way=[*open_post("{title}"), t.click("{author}"), t.click("Block {author}")],
    seen="{author} is blocked.",
)


unblock = Change(
    f"SELECT u.* FROM user u JOIN user_block b ON b.blocked_id = u.user_id WHERE b.user_id = {ME} ORDER BY 1",
    lambda world, row: blocked(world, row["user_id"], is_added=False),
    way=lambda world, row: [t.click(my_name(world)), t.click("Block list"), t.click(f"Unblock {row['username']}")],
    seen="They are off the list.",
    slots={"user": "{username}"},
)


message = Change(
    f"SELECT * FROM user WHERE user_id != {ME} AND user_id IN (SELECT user_id FROM submission) ORDER BY user_id",
    lambda world, row: sent(world, row["user_id"], row["text"]),
    way=[*open_user("{username}"), t.click("Send message"), t.type_text("Message", "{text}"), t.click("Send message")],
    seen="The message is sent.",
    also={"text": lambda world, _row: world.rng.choice(MESSAGES).format(word=word(world))},
    slots={"user": "{username}"},
)


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
