"""A quiz of the forum, whose winner the encyclopedia and the rules of the quiz tell together."""

from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates.hard.threads import messages_are, plant_post, strangers, write_to
from webarena_gym.templates.hard.ways import ago
from webarena_gym.templates.reddit.routes import open_post, word
from webarena_gym.templates.several.routes import tabs, turn_to
from webarena_gym.templates.wikipedia.routes import FACTS, open_article

TEMPLATES = t.Templates("hard")

_PRIZES = (
    "You have won the quiz, congratulations! Where may I send the prize?",
    "The prize is yours, well done.",
    "Congratulations, nobody was faster and right.",
)


@TEMPLATES.define(
    'I made the quiz "{title}" in the forum together with a friend. Find the winner by the rules in that post; the encyclopedia decides which answers are right. Send the winner, and nobody else, the private message "{text}"',
    'who won the quiz "{title}" (forum)? rules are in the post, right answers = encyclopedia. pm the winner: "{text}" (only the winner)',
    'The quiz "{title}" is over, and somebody has to work out who has won. Its rules are a bit fussy, please keep to them. You can look up the right answers in the encyclopedia. Then write to the winner privately: "{text}" Just one message.',
    'Under "{title}" people have answered our quiz. Determine the one winner: right answers according to the encyclopedia, everything else according to the rules in the post. That person gets this message from me: "{text}"',
    'Please tell the winner of "{title}" that the prize is theirs: private mesage "{text}". Check the answers against the encyclopedia, and mind all of the rules in the post.',
    sites=("reddit", "wikipedia"),
    difficulty=("several_sites", "policies", "reading"),
)  # fmt: skip
def winner_of_quiz(world: t.Sampler) -> t.Draw:
    """Write to the winner of a quiz about the encyclopedia."""
    rng = world.rng
    facts = world.rows(
        FACTS
        + """SELECT title, CAST(number AS INTEGER) AS year FROM facts WHERE label = 'Opened' AND kind IN ('museum', 'library', 'zoo', 'stadium', 'theater', 'bridge')
        ORDER BY title""",
        site="wikipedia",
    )
    asked = rng.sample(facts, 4)
    years = [int(row["year"]) for row in asked]
    if len(set(years)) < 4:
        raise t.NothingToDraw("four different years")
    forum = world.pick("SELECT * FROM forum ORDER BY forum_id")
    host, champion, twice, edited, late, right, *others = strangers(world, 12)
    name = word(world)
    title, old = f"Quiz of the {name} club: when was it opened?", f"Quiz of the {name} club: rivers and lakes"
    lines = "\n".join(f"{number}. {row['title']}" for number, row in enumerate(asked, 1))
    rules = (
        f"In which year were these opened?\n\n{lines}\n\nWhoever is the first to name all four years wins. One comment a person: who writes a second list of years is out, with both. "
        f'Edited comments are out, too, even for a missing comma. And nobody wins twice in a row: the winner of "{old}" may play, but not win.'
    )
    last = plant_post(
        world, forum, host["user_id"], old, "Five questions about water. The winner will be named below.", 24 * 40
    )
    world.plant(
        "comment",
        submission_id=last["submission_id"],
        user_id=others[0]["user_id"],
        body="I am sure that I have won this.",
        created_at=ago(world, hours=24 * 38),
    )
    world.plant(
        "comment",
        submission_id=last["submission_id"],
        user_id=host["user_id"],
        body=f"And the winner is {champion['username']}. The prize is on its way.",
        created_at=ago(world, hours=24 * 37),
    )
    post = plant_post(world, forum, host["user_id"], title, rules, 24 * 6)

    def answers(*wrong: int) -> str:
        """Return a list of years that is wrong at some places, by a year or ten years."""
        given = [year + rng.choice((-10, -1, 1, 10)) if place in wrong else year for place, year in enumerate(years)]
        return ", ".join(map(str, given))

    comments: list[tuple[t.Row, str, bool]] = [
        (others[0], answers(2), False),
        (champion, answers(), False),
        (others[1], f"Easy. {answers(0)}!", False),
        (twice, answers(3), False),
        (edited, f"{answers()}, I think", True),
        (twice, f"Sorry, I meant {answers()}.", False),
        (others[2], answers(1, 3), False),
        (right, f"My guess: {answers()}.", False),
        (others[3], answers(1), False),
        (late, f"{answers()}. Am I the first?", False),
        (others[4], "Who has so much time? I know none of them.", False),
    ]
    for place, (person, body, is_edited) in enumerate(comments):
        moment = ago(world, hours=140 - 9 * place)
        more = {"edited_at": ago(world, hours=139 - 9 * place)} if is_edited else {}
        made = world.plant(
            "comment", submission_id=post["submission_id"], user_id=person["user_id"], body=body, created_at=moment, **more
        )
        # Threads show the best comments first, so that the first one shown is not the first one written.
        world.alter("comment", {"comment_id": made}, up=rng.randint(1, 30))
    text = rng.choice(_PRIZES)
    looks: list[Step] = [step for row in asked for step in open_article(row["title"])]
    return t.Draw(
        {"title": title, "text": text},
        messages_are(world, [right], text),
        [
            *open_post(title),
            turn_to(1),
            *looks,
            turn_to(0, f"The years are {', '.join(map(str, years))}."),
            *open_post(old),
            *write_to([right], text),
            t.leave("", f"{right['username']} was the first of those who may win."),
        ],
        start_url=tabs("reddit", "wikipedia"),
        evidence=[f"the winner is {champion['username']}", *map(str, years), *(body for _, body, _ in comments)],
    )
