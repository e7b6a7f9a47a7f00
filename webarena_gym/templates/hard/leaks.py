"""Issues on the code host in which something stands that strangers should not read."""

from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates.gitlab.ways import SPOKEN, entry, new_rows, open_project
from webarena_gym.templates.hard.issues import a_project, labelled_list, plant_issue, plant_label, say, strangers

TEMPLATES = t.Templates("hard")

_LEAKS = (
    ("Cannot sign in from the command line", "I use the token {token} and get an error 401.", "", ""),
    ("Connection is refused at night", "Here is my whole configuration:\n\nhost = db.internal.example\nuser = report\npassword = {token}\n\nWhat is wrong with it?", "", ""),
    ("Backup does not start", "The log says nothing that helps me.", "Which command do you run?", "backup --user admin --password {token} --all"),
    ("Question about the mail settings", "Do I have to fill in both fields?", "Both. What did you enter?", "The name is mailer, and the password is {token}. I thought that this would be enough."),
    ("Webhook is called twice", "The address that I call is https://hooks.example/in?key={token}, and it arrives two times.", "", ""),
    ("Import takes hours", "Forty thousand rows, and the fan never stops.", "I can have a look. How do I get at the data?", "Use my account: carol, {token}. Please do not break anything!"),
)  # fmt: skip
"""Issues with a secret that can be read: title, description, a question, and its answer."""

_HARMLESS = (
    ("Token is not accepted", "My token begins with gl and has twenty characters, more I will not say here. It is refused.", "", ""),
    ("Password field is too short", "I cannot type more than twelve characters, and mine has fifteen.", "Which one is it?", "Nice try. You will not get my password here."),
    ("Where do I put the key?", "The manual says key=YOUR_KEY_HERE. Do I replace all of YOUR_KEY_HERE or only a part of it?", "All of it.", "Thanks, that was it."),
    ("Secrets in the log", "The log of the nightly run holds the password in plain text. That should not be.", "Can you show a line of it?", "password=******** (I have painted it over, of course)"),
    ("Sign-in with a card", "Are there plans to support this? Passwords are so last century.", "", ""),
    ("Example in the manual", "It uses the password secret123. Please take a better example, people copy this.", "Will do.", ""),
    ("Reset of the password", "The mail with the link comes after an hour, and the link is valid for half an hour.", "Which address do you use?", "One at my own domain. The post office is not to blame."),
)  # fmt: skip
"""Issues that speak of secrets and show none that is anybody's."""


@TEMPLATES.define(
    'People have posted real passwords, tokens and keys in issues of {project}. Look through the open issues labelled "{label}", and mark as confidential each one in which such a secret can be read, in the description or '
    "in a comment. Placeholders, examples from a manual and things painted over are no secrets. Write nothing.",
    '{project}: every open "{label}" issue where somebody leaked a real password/token/key (check the comments too!) -> confidential. not the ones that just talk about passwords or show placeholders. no comments',
    'We had a small accident: there are credentials of users in our public issues. Please check all open issues with the label "{label}" in {project}. If a password, key or token that somebody really uses stands anywhere in '
    "it, make the issue confidential. If it is only about passwords, or if the thing shown is blacked out or an example, leave it. No replies.",
    'Go over the open issues of {project} that are labelled "{label}" and hide (mark as confidential) those that give away somebody\'s actual credentials. Read the threads to the end. Change and write nothing else.',
    'In {project}, which of the "{label}" issues contain a working secret of a user? Those, and only those, should become confidential. Mere talk about secrets, dummies and masked ones do not count. Please do not comment.',
    sites=("gitlab",),
    difficulty=("reading", "exhaustive", "restraint"),
)  # fmt: skip
def hide_leaks(world: t.Sampler) -> t.Draw:
    """Make confidential the issues in which somebody's secret stands."""
    row, label, rng = a_project(world), world.rng.choice(("support", "help wanted from us", "first contact")), world.rng
    label_id = plant_label(world, row, label)
    drawn = [(each, True) for each in rng.sample(_LEAKS, rng.randint(3, 4))]
    drawn += [(each, False) for each in rng.sample(_HARMLESS, rng.randint(4, 5))]
    rng.shuffle(drawn)
    people = strangers(world, len(drawn) + 1)
    made: list[tuple[t.Row, bool]] = []
    texts: list[str] = []
    for place, ((case, is_leak), author) in enumerate(zip(drawn, people, strict=False)):
        token = "".join(rng.choice("abcdefghkmnpqrstuvwxyz23456789") for _ in range(14))
        title, *said = (text.format(token=token) for text in case)
        issue = plant_issue(world, row, title, said[0], author["user_id"], 40 - 3 * place)
        world.plant("issue_label", issue_id=issue["issue_id"], label_id=label_id)
        for number, text in enumerate(said[1:]):
            if text:
                say(world, issue, (people[-1], author)[number]["user_id"], text, 90 - 20 * number + place)
                texts.append(text.partition("**")[0])
        made.append((issue, is_leak))
    steps: list[Step] = [*open_project(row), *labelled_list(label)]
    for issue, is_leak in made:
        steps.append(t.click(entry(issue["title"])))
        steps += (
            [t.click("Edit issue", "A secret can be read here."), t.click("This issue is confidential"), t.click("Save changes"), *labelled_list(label)]
            if is_leak
            else [t.back("Nothing secret.")]
        )  # fmt: skip
    query = "SELECT iid, is_confidential, state, title, description FROM issue WHERE project_id = ? ORDER BY iid"
    leaks = {issue["iid"] for issue, is_leak in made if is_leak}
    expected = [[iid, 1 if iid in leaks else hidden, *rest] for iid, hidden, *rest in world.rows(query, row["project_id"])]
    return t.Draw(
        {"project": row["full_path"], "label": label},
        t.all_of(t.state(query, row["project_id"], expected=expected), new_rows(world, "note", "issue_id, body", [], SPOKEN)),
        [*steps, t.leave("", "The leaks are hidden.")],
        evidence=[*(issue["title"] for issue, _ in made), *texts],
    )
