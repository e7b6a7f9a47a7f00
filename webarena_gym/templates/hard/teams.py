"""People and merge requests on the code host: who is meant, and what the guide of a project allows."""

from webarena_gym.sites.gitlab.planning import MERGE_REQUEST
from webarena_gym.tasks import template as t
from webarena_gym.tasks.grounds import says
from webarena_gym.tasks.task import Step
from webarena_gym.templates.gitlab.members import HELD, ROLES, members_become
from webarena_gym.templates.gitlab.reviews import MERGEABLE, STATES
from webarena_gym.templates.gitlab.routes import ME, PROJECTS
from webarena_gym.templates.gitlab.routes import open_project as open_mine
from webarena_gym.templates.gitlab.ways import SEARCH_BOX, SPOKEN, new_rows, open_item, open_project
from webarena_gym.templates.hard.issues import comment
from webarena_gym.templates.hard.ways import ago

TEMPLATES = t.Templates("hard")


def job(text: str) -> str:
    """Return a job as a goal tells it.

    >>> job("Designer"), job("Engineer")
    ('a designer', 'an engineer')
    """
    return f"{'an' if text[0] in 'AEIOU' else 'a'} {text[0].lower()}{text[1:]}"


@TEMPLATES.define(
    "Invite two people to my project {project} as {role}: the {first} who is {first_job} by profession, and the {second} who works as {second_job}.",
    "pls add {first} ({first_job}) and {second} ({second_job}) to {project} w/ role {role}. mind you there are several with these first names",
    "For {project} I would like to have {first} and {second} on board, both as {role}. I have forgotten their last names: {first} told me of being {first_job}, and {second} is {second_job}. "
    "Please send the invitations.",
    "My project {project} needs two more members with the role {role}. One is called {first} and is {first_job}, the other one {second}, {second_job}. Their profiles should tell who they are.",
    "Add to {project}, as {role}: {first}, {first_job}, and {second}, {second_job}. Do not mistake them for thier namesakes!",
    sites=("gitlab",),
    difficulty=("names",),
)
def invite_namesakes(world: t.Sampler) -> t.Draw:
    """Invite two people who are told from others of the same first name by their jobs."""
    people = world.rows(f"SELECT * FROM user WHERE user_id != {ME} ORDER BY name")
    called: dict[str, list[t.Row]] = {}
    for person in people:
        called.setdefault(person["name"].split()[0], []).append(person)
    found = []
    for name in sorted(called):
        group = called[name]
        if len(group) < 3 or any(name in other["name"].split()[1:] for other in people):
            continue
        jobs = [person["job_title"] for person in group]
        found += [
            (name, person)
            for person in group
            if person["job_title"] and not person["is_profile_private"] and jobs.count(person["job_title"]) == 1
        ]
    names = sorted({name for name, _ in found})
    if len(names) < 2:
        raise t.NothingToDraw("two people with namesakes")
    chosen = [world.rng.choice([person for own, person in found if own == name]) for name in world.rng.sample(names, 2)]
    row = world.pick(PROJECTS + "SELECT * FROM mine ORDER BY project_id")
    held = {member["user_id"] for member in world.rows(HELD, row["project_id"])}
    if any(person["user_id"] in held for person in chosen):
        raise t.NothingToDraw("people who are no members")
    role = world.rng.choice(ROLES)
    steps: list[Step] = []
    for person in chosen:
        first = person["name"].split()[0]
        steps += [t.search(SEARCH_BOX, first), t.click("Users")]
        for other in called[first]:
            steps.append(t.click(other["name"]))
            if other is person:
                break
            steps.append(t.back("That is somebody else."))
    one, two = chosen
    return t.Draw(
        {
            "project": row["name"],
            "role": role.lower(),
            "first": one["name"].split()[0],
            "first_job": job(one["job_title"]),
            "second": two["name"].split()[0],
            "second_job": job(two["job_title"]),
        },
        members_become(world, row["project_id"], {person["user_id"]: [role, None] for person in chosen}),
        [
            *steps,
            *open_mine(row, "Members"),
            t.click("Invite members"),
            t.type_text("Username, name or email address", ", ".join(person["username"] for person in chosen)),
            t.choose("Select a role", role),
            t.click("Invite"),
            t.leave("", "Both are invited."),
        ],
        evidence=[text for person in chosen for text in (person["name"], person["job_title"])],
    )


_YES = ("Looks good to me.", "I have read every line, go ahead.", "Approved from my side.", "No objections, ship it.")
_NO = (
    "I would rather wait for the tests to be green.",
    "Looks good in general. One thing has to change before it goes in: the names are misleading.",
    "Please do not merge this yet, I have a question about the second file.",
)
_NEUTRAL = (
    "Interesting, I will have a look next week.",
    "Who will maintain this later?",
    "Is this what we talked about in the call?",
)


@TEMPLATES.define(
    'Merge "{title}" in {project} if {file} of the repository allows it now. If it does not, change nothing but write the comment "{note}" on the merge request, and answer N/A.',
    '{project}: merge the MR "{title}" pls, but only if its ok according to {file}. not ok = comment "{note}" on it and answer N/A',
    'Could you have a look at the merge request "{title}" of {project}? Whether it may be merged is written in {file} in the repository. If so, merge it. Otherwise leave the comment "{note}" '
    "there and tell me N/A.",
    'Our rules for merging are in {file} ({project}). By these rules: either merge "{title}", or comment "{note}" and reply with N/A.',
    'The author of "{title}" ({project}) is asking for the third time when it gets merged. Check the discussion against {file}. Allowed: merge. Not alowed: comment "{note}", nothing else, and N/A as the answer.',
    sites=("gitlab",),
    difficulty=("judgement", "policies", "reading"),
)
def merge_by_guide(world: t.Sampler) -> t.Draw:
    """Merge a request, or refuse to, as a guide in the repository says; both are as likely."""
    row = world.pick(MERGEABLE)
    if row["created_at"] > ago(world, hours=41):
        raise t.NothingToDraw("a merge request that people have had time to talk about")
    branch = world.pick(
        "SELECT * FROM branch b JOIN project p USING (project_id) WHERE project_id = ? AND b.name = p.default_branch",
        row["project_id"],
    )
    file, note = (
        "MERGING.md",
        world.rng.choice(("Not ready to be merged yet.", "The rules for merging are not met yet.", "This has to wait.")),
    )
    if world.rows("SELECT 1 FROM file WHERE branch_id = ? AND path = ?", branch["branch_id"], file):
        raise t.NothingToDraw("a project without a guide")
    world.plant(
        "file",
        branch_id=branch["branch_id"],
        path=file,
        commit_id=branch["head_id"],
        content="# Merging\n\nA merge request goes in when two people have agreed to it in the discussion. Its author does not count, and nobody counts twice.\n\n"
        "An objection stops it until whoever raised it takes it back. Questions and remarks are no objections. What was said before the note "
        '"Reviews begin here" does not count either way.\n',
    )
    is_allowed = world.rng.random() < 0.5
    others = world.rows(f"SELECT * FROM user WHERE user_id NOT IN ({ME}, ?) ORDER BY user_id", row["author_id"])
    first, second, third = world.rng.sample(others, 3)
    author = world.rows("SELECT * FROM user WHERE user_id = ?", row["author_id"])[0]
    yes, no = world.rng.sample(_YES, 3), world.rng.choice(_NO)
    start = (first, "Reviews begin here")
    if is_allowed:
        talk = world.rng.choice(
            (
                [(third, no), start, (first, yes[0]), (third, world.rng.choice(_NEUTRAL)), (second, yes[1])],
                [
                    start,
                    (first, no),
                    (second, yes[0]),
                    (third, yes[1]),
                    (first, "My question is answered, I take back what I said."),
                ],
                [start, (second, yes[0]), (author, yes[2]), (first, world.rng.choice(_NEUTRAL)), (third, yes[1])],
            )
        )
    else:
        talk = world.rng.choice(
            (
                [(second, yes[0]), start, (first, yes[1]), (third, world.rng.choice(_NEUTRAL))],
                [start, (first, yes[0]), (author, yes[1]), (third, world.rng.choice(_NEUTRAL))],
                [start, (first, yes[0]), (second, world.rng.choice(_NEUTRAL)), (first, yes[1])],
                [start, (first, no), (second, yes[0]), (third, yes[1]), (author, "The objection is answered, I think.")],
            )
        )
    for place, (person, text) in enumerate(talk):
        moment = ago(world, hours=40 - 6 * place)
        comment(world, "merge_request", row["merge_request_id"], person["user_id"], text, moment)
    states = [
        [iid, "merged" if is_allowed and iid == row["iid"] else state] for iid, state in world.rows(STATES, row["project_id"])
    ]
    said = [] if is_allowed else [[row["merge_request_id"], ME, note]]
    checks = (
        t.state(STATES, row["project_id"], expected=states),
        new_rows(world, "note", "merge_request_id, author_id, trim(body, ' \"')", said, SPOKEN),
    )
    way = [*open_project(row), t.click("Repository"), t.click(file), *open_item(world, MERGE_REQUEST, row)]
    slots = {"title": row["title"], "project": row["full_path"], "file": file, "note": note}
    evidence = ["nobody counts twice", *(text for _, text in talk)]
    if is_allowed:
        return t.Draw(
            slots,
            t.all_of(*checks),
            [*way, t.click("Merge"), t.leave("", "Two people agree, and nobody objects.")],
            evidence=evidence,
        )
    return t.Draw(
        slots,
        t.all_of(t.not_achievable(), *checks),
        [*way, t.type_text("Write a comment", note), t.click("Comment"), t.leave("N/A", "The rules are not met.")],
        grounds={"N/A": says("nobody counts twice", talk[-1][1])},
        evidence=evidence,
    )
