"""Merge requests of the code host whose reviewers follow from what they change."""

from collections.abc import Sequence

from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates.gitlab.reviews import REVIEWED
from webarena_gym.templates.gitlab.ways import SPOKEN, entry, new_rows, next_iid, open_project, option, people_of
from webarena_gym.templates.hard.issues import a_project
from webarena_gym.templates.hard.ways import ago, repository_page

TEMPLATES = t.Templates("hard")

_CHANGES = (
    ("Say what went wrong", "explain-errors"), ("Sort names as people do", "sort-names"), ("Less noise at the start", "quiet-start"),
    ("Round to two digits", "round-numbers"), ("One more example", "example"), ("Colors for the blind", "colors"), ("Drop the old names", "old-names"),
    ("Keep what was typed", "keep-text"),
)  # fmt: skip


def plant_branch(world: t.Sampler, row: t.Row, name: str, title: str, author: t.Row, paths: Sequence[str], days: int) -> None:
    """Plant a branch of a project with one commit of that title, which adds some files."""
    trunk = world.rows("SELECT * FROM branch WHERE project_id = ? AND name = ?", row["project_id"], row["default_branch"])[0]
    branch = world.plant("branch", project_id=row["project_id"], name=name)
    plant_commit(world, row["project_id"], branch, trunk["head_id"], title, author, paths, days)


def plant_commit(
    world: t.Sampler,
    project_id: int,
    branch_id: int,
    parent_id: int,
    title: str,
    author: t.Row,
    paths: Sequence[str],
    days: int,
) -> None:
    """Plant the newest commit of a branch, which adds some files."""
    commit = world.plant(
        "git_commit",
        project_id=project_id,
        sha="".join(world.rng.choice("0123456789abcdef") for _ in range(40)),
        parent_id=parent_id,
        author_id=author["user_id"],
        author_name=author["name"],
        author_email=f"{author['username']}@example.org",
        title=title,
        created_at=ago(world, days=days),
    )
    world.alter("branch", {"branch_id": branch_id}, head_id=commit)
    world.plant("commit_branch", branch_id=branch_id, commit_id=commit)
    for path in paths:
        world.plant("file_change", commit_id=commit, path=path, kind="added", after=f"{title}\n")
        world.plant("file", branch_id=branch_id, path=path, content=f"{title}\n", commit_id=commit)


def plant_request(world: t.Sampler, row: t.Row, title: str, branch: str, author: t.Row, days: int, *, is_draft: bool) -> t.Row:
    """Plant a merge request from a branch into the default one, and return it."""
    made = world.plant(
        "merge_request",
        project_id=row["project_id"],
        iid=next_iid(world, "merge_request", row["project_id"]),
        title=title,
        description="See the changes.",
        author_id=author["user_id"],
        source_branch=branch,
        target_branch=row["default_branch"],
        is_draft=int(is_draft),
        created_at=ago(world, days=days),
        updated_at=ago(world, days=days),
    )
    return world.rows("SELECT * FROM merge_request WHERE merge_request_id = ?", made)[0]


@TEMPLATES.define(
    "Several open merge requests of {project} were made in the last {days} days and have no reviewer. Give each of them the reviewer that {file} in the repository tells by the files it changes. Where the file says that nobody "
    "reviews, leave it without one. Older merge requests are none of your business.",
    '{project}: set the reviewer on every open MR from the last {days} days that has none. {file} (repo) says who, depends on the changed files. some get nobody. older MRs stay as they are',
    "The merge requests of the last {days} days in {project} wait for reviewers. {file} in the repository explains who reviews what; look at the changes of each of them, and enter the right person. "
    "Not all of them get one. Please do nothing else to them.",
    "Please assign reviewers in {project} according to {file}: for each open merge request from the past {days} days without a reviewer, exactly the one person whom the file names for such changes (or nobody, if the file says so).",
    "By the rules in {file}, who has to review the open merge requests that were opened in {project} during the last {days} days? Enter these people as reviewers. Leave alone those that have a reviewer and those that are older.",
    sites=("gitlab",),
    difficulty=("policies", "exhaustive", "restraint"),
)  # fmt: skip
def reviewers_by_files(world: t.Sampler) -> t.Draw:
    """Give merge requests the reviewers that a file of the project names for what they change."""
    row, rng, days, file = a_project(world), world.rng, 5, "REVIEWERS.md"
    people = people_of(world, row["project_id"])
    if len(people) < 4 or len({person["name"] for person in people}) < len(people):
        raise t.NothingToDraw("a project with enough members")
    docs, code, tests, lead = rng.sample(people, 4)
    recent = world.rows(
        "SELECT 1 FROM merge_request WHERE project_id = ? AND state = 'opened' AND created_at > ?",
        row["project_id"],
        ago(world, days=days + 2),
    )
    if recent:
        raise t.NothingToDraw("a project without merge requests of these days")
    rules = (
        "# Who reviews\n\nOne person for each merge request, by the files that it changes:\n\n"
        f"- only files below manual/: {docs['name']}\n- only files below engine/: {code['name']}\n- only files below checks/: {tests['name']}\n"
        f"- files of the engine together with their checks, and nothing else: {code['name']}\n- any other mixture, and files elsewhere: {lead['name']}\n\n"
        f"Nobody reviews what is one's own work: {lead['name']} does it then, and for {lead['name']} it is {code['name']}.\n\n"
        "Drafts get no reviewer yet.\n"
    )
    usual = [
        person
        for person in people
        if person["user_id"] not in (docs["user_id"], code["user_id"], tests["user_id"], lead["user_id"])
    ] or [tests]
    one = rng.choice(usual)
    cases: list[tuple[list[str], t.Row, bool, t.Row | None]] = [
        (["manual/start.md", "manual/words.md"], code, False, docs),
        (["engine/lines.txt", "checks/lines.txt"], docs, False, code),
        (["manual/errors.md", "engine/errors.txt"], tests, False, lead),
        (["engine/count.txt"], code, False, lead),
        (["checks/names.txt"], lead, False, tests),
        (["manual/help.md", "notes.txt"], docs, False, lead),
        (["engine/start.txt"], one, True, None),
        (["engine/old.txt", "checks/old.txt"], lead, False, code),
    ]
    cases = rng.sample(cases[:3], 2) + rng.sample(cases[3:6], 2) + rng.sample(cases[6:], 2)
    rng.shuffle(cases)
    made: list[tuple[t.Row, t.Row | None]] = []
    evidence = ["Drafts get no reviewer yet"]
    for place, ((paths, author, is_draft, reviewer), (title, branch)) in enumerate(
        zip(cases, rng.sample(_CHANGES, len(cases)), strict=True)
    ):
        plant_branch(world, row, branch, title, author, paths, 4 - place * 4 // len(cases))
        request = plant_request(world, row, title, branch, author, 4 - place * 4 // len(cases), is_draft=is_draft)
        made.append((request, reviewer))
        evidence += [title, *([] if is_draft else paths)]
    steps: list[Step] = repository_page(world, row, file, rules)
    for request, reviewer in made:
        steps += [*open_project(row)] if request is made[0][0] else []
        steps += [t.click("Merge requests"), t.click(entry(request["title"]))]
        if reviewer:
            steps += [
                t.click("Changes"),
                t.click("Overview", f"That is for {reviewer['name']}."),
                t.click("Edit merge request"),
                t.choose("Reviewer", option(reviewer)),
                t.click("Save changes"),
            ]
    reviewers = {request["iid"]: reviewer["username"] for request, reviewer in made if reviewer}
    expected = [[iid, reviewers.get(iid, names)] for iid, names in world.rows(REVIEWED, row["project_id"])]
    plain = "SELECT iid, title, state, is_draft FROM merge_request WHERE project_id = ? ORDER BY iid"
    return t.Draw(
        {"project": row["full_path"], "days": days, "file": file},
        t.all_of(
            t.state(REVIEWED, row["project_id"], expected=expected),
            t.state(plain, row["project_id"], expected=[list(each) for each in world.rows(plain, row["project_id"])]),
            new_rows(world, "note", "merge_request_id, body", [], SPOKEN),
        ),
        [*steps, t.leave("", "Everybody who has to review is asked.")],
        evidence=evidence,
    )
