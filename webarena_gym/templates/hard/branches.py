"""Branches on the code host that have done their duty, and some that only seem to have."""

from webarena_gym.tasks import template as t
from webarena_gym.tasks.task import Step
from webarena_gym.templates.gitlab.repositories import branches_of
from webarena_gym.templates.gitlab.reviews import STATES
from webarena_gym.templates.gitlab.ways import entry, open_project
from webarena_gym.templates.hard.issues import a_project, comment, plant_label, strangers
from webarena_gym.templates.hard.reviewers import plant_branch, plant_commit, plant_request
from webarena_gym.templates.hard.ways import ago, repository_page

TEMPLATES = t.Templates("hard")

_WORK = (
    ("Sharper pictures", "pictures"), ("Fewer questions at the start", "questions"), ("A list of all keys", "keys"), ("Longer names", "names"), ("Two columns", "columns"),
    ("No sound at night", "sound"), ("Another word for done", "words"), ("Faster lists", "lists"), ("Kinder errors", "errors"),
)  # fmt: skip
_GOOD_BYE = (
    "I will not go on with this. The branch can be deleted.",
    "Nobody needs this branch any more, me least of all.",
    "Solved in another way, please throw the branch away.",
)


@TEMPLATES.define(
    'Delete those branches of {project} whose names begin with "{prefix}" and that are no longer needed by the rules in {file} (in the repository). All other branches stay, and merge requests stay as they are.',
    '{project}: clean up the "{prefix}..." branches. rules are in {file} in the repo. delete what may go, keep the rest, dont touch MRs',
    'We have too many branches in {project}. Of those that begin with "{prefix}", please delete the ones that may be deleted according to {file}. It depends on their merge requests, so look at these first. Nothing else is to change.',
    "{file} in {project} says when a branch can go. Aply that to all branches called {prefix}something, and delete exactly these.",
    'Could you tidy up the branches of {project}? Only those with names that start with "{prefix}", and only if {file} allows it. What has to stay must stay, I have had to restore one before.',
    sites=("gitlab",),
    difficulty=("policies", "exhaustive", "restraint"),
)  # fmt: skip
def delete_branches(world: t.Sampler) -> t.Draw:
    """Delete the branches that the rules of a project no longer need."""
    row, rng, file = a_project(world), world.rng, "BRANCHES.md"
    prefix, label = rng.choice(("try-", "wip-", "draft-")), rng.choice(("keep branch", "branch stays"))
    label_id = plant_label(world, row, label)
    rules = (
        "# Branches\n\nA branch may be deleted\n\n"
        "- when its merge request has been merged, and nothing was committed to it after that, or\n"
        "- when its merge request was closed without being merged, and the author of the merge request (nobody else) says in the discussion that the branch is not needed.\n\n"
        f"In any case it stays as long as another merge request from it is open, and if its merge request has the label {label}. Branches without a merge request stay.\n"
    )
    plan = [
        "merged",
        "merged",
        "merged, open again",
        "merged, labelled",
        "merged, then changed",
        "given up",
        "given up by another",
        "alone",
    ]
    plan.remove(rng.choice(plan[2:5]))
    rng.shuffle(plan)
    people = strangers(world, 2 * len(plan))
    trunk = world.value(
        "SELECT branch_id FROM branch WHERE project_id = ? AND name = ?", row["project_id"], row["default_branch"]
    )
    gone: list[str] = []
    looks: list[Step] = []
    said: list[str] = []
    titles: list[str] = []
    again: list[tuple[str, str, t.Row]] = []
    merge_requests = [*open_project(row), t.click("Merge requests")]
    for place, (fate, (title, word)) in enumerate(zip(plan, rng.sample(_WORK, len(plan)), strict=True)):
        author, other = people[2 * place], people[2 * place + 1]
        name = f"{prefix}{word}"
        plant_branch(world, row, name, title, author, [f"{word}.txt"], 70 - place)
        if fate == "alone":
            continue
        source = world.rows("SELECT * FROM branch WHERE project_id = ? AND name = ?", row["project_id"], name)[0]
        request = plant_request(world, row, title, name, author, 70 - place, is_draft=False)
        key = {"merge_request_id": request["merge_request_id"]}
        titles.append(title)
        if fate.startswith("merged"):
            world.alter(
                "merge_request",
                key,
                state="merged",
                merged_at=ago(world, days=30 - place),
                updated_at=ago(world, days=30 - place),
            )
            world.plant("commit_branch", branch_id=trunk, commit_id=source["head_id"])
            world.plant("file", branch_id=trunk, path=f"{word}.txt", content=f"{title}\n", commit_id=source["head_id"])
        else:
            world.alter(
                "merge_request",
                key,
                state="closed",
                closed_at=ago(world, days=30 - place),
                updated_at=ago(world, days=30 - place),
            )
            text = rng.choice(_GOOD_BYE)
            speaker = author if fate == "given up" else other
            comment(world, "merge_request", request["merge_request_id"], speaker["user_id"], text, ago(world, days=20))
            said.append(text)
        if fate == "merged, labelled":
            world.plant("merge_request_label", merge_request_id=request["merge_request_id"], label_id=label_id)
        if fate in ("merged, open again", "merged, then changed"):
            more = f"{title}, part two"
            plant_commit(world, row["project_id"], source["branch_id"], source["head_id"], more, author, [f"{word}-2.txt"], 6)
            if fate == "merged, open again":
                again.append((more, name, author))
        if fate in ("merged", "given up"):
            gone.append(name)
        looks += [*merge_requests, t.click("Merged" if fate.startswith("merged") else "Closed"), t.click(entry(title))]
    for more, name, author in again:
        plant_request(world, row, more, name, author, 5, is_draft=False)
    before = branches_of(world, row["project_id"])
    way = [*open_project(row), t.click("Repository"), t.click("Branches"), t.search("Filter by branch name", prefix)]
    deletes = [step for name in gone for step in (t.click(f"Delete branch {name}"), t.search("Filter by branch name", prefix))]
    return t.Draw(
        {"project": row["full_path"], "prefix": prefix, "file": file},
        t.all_of(
            t.state("SELECT name FROM branch WHERE project_id = ? ORDER BY name", row["project_id"], expected=[[each[0]] for each in before if each[0] not in gone]),
            t.state(STATES, row["project_id"], expected=[list(each) for each in world.rows(STATES, row["project_id"])]),
        ),
        [*repository_page(world, row, file, rules), *looks, *way, *deletes, t.leave("", "What is not needed is gone.")],
        evidence=["nothing was committed to it after that", *titles, *said],
    )  # fmt: skip
