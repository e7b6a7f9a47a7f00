"""A plan for a day that can be kept, or cannot."""

from webarena_gym.tasks import template as t
from webarena_gym.tasks.grounds import says
from webarena_gym.tasks.task import Step
from webarena_gym.templates.gitlab.ways import entry, open_project
from webarena_gym.templates.hard.doubles import remarks_are
from webarena_gym.templates.hard.issues import a_project, plant_issue, say, strangers
from webarena_gym.templates.hard.places import is_open
from webarena_gym.templates.hard.ways import of_site, repository_page
from webarena_gym.templates.map.changes import saved, saved_are
from webarena_gym.templates.map.ways import open_place, places
from webarena_gym.templates.several.routes import tabs, turn_to

TEMPLATES = t.Templates("hard")


@TEMPLATES.define(
    'The plan for our {day} is in {file} in {project} (code host), and the issue "{title}" has what was changed since by whoever opened it. If every stop is open for as long as we want to be there (map), save all stops of the plan with the note "{note}". If one is not, save nothing, write the comment "{refusal}" on the issue, and answer N/A.',
    '{project}: check plan for {day} = {file} + changes in issue "{title}" (only those by its author count). all stops open the whole time per map? -> save them all, note "{note}". otherwise save none, comment "{refusal}" on the issue, reply N/A',
    'Can we do our {day} as planned? You find the stops with their times in {file} (repository of {project}). Read the issue "{title}" too, where the person who opened it has changed some of it; what others propose there does not count. Then look up the opening hours on the map. If it works out, put all stops among my saved places with "{note}" as the note. If it does not, say so on the issue ("{refusal}"), leave my places alone, and answer N/A.',
    'Before {day} I want to be sure that no door is closed. Stops and times: {file} of {project}, with the changes that the author of the issue "{title}" has made there. Hours: the map. Everything open throughout: save each stop, note "{note}". Anything closed, even for a part of the time: only the comment "{refusal}" on that issue, and N/A as your answer.',
    'Please check the plan {file} in {project} for {day}, in the form that it has after the issue "{title}" (its author decides). Either all stops are open at the planned times acording to the map, and you save them with the note "{note}"; or not all are, and you write "{refusal}" on the issue and answer N/A.',
    sites=("map", "gitlab"),
    difficulty=("judgement", "time", "several_sites"),
)  # fmt: skip
def save_if_possible(world: t.Sampler) -> t.Draw:
    """Save the stops of a plan if all are open then, or say that they are not; both are as likely."""
    rng, host, own, file = world.rng, world.at("gitlab"), saved(world), "DAY.md"
    day, column = rng.choice((("Saturday", "saturday"), ("Sunday", "sunday")))
    row = a_project(host)
    rows = [
        each
        for each in places(world, "label = name AND category IN ('cafe', 'museum', 'library', 'zoo', 'bakery', 'bookshop', 'restaurant')")
        if each["place_id"] not in own
    ]  # fmt: skip
    slots = [(10, 11), (11, 13), (13, 14), (14, 16), (16, 17)]

    def fits(each: t.Row, begin: int, end: int) -> bool:
        return is_open(each[column], f"{begin:02}:00", f"{end:02}:00")

    stops: list[t.Row] = []
    for begin, end in slots:
        stops.append(rng.choice([each for each in rows if fits(each, begin, end) and each not in stops]))
    lines = [f"- {begin}:00 to {end}:00: {each['name']}" for (begin, end), each in zip(slots, stops, strict=True)]
    swapped, moved = rng.sample(range(4), 2)
    is_possible = rng.random() < 0.5
    begin, end = slots[swapped]
    new = rng.choice(
        [each for each in rows if fits(each, begin, end) is is_possible and "-" in each[column] and each not in stops]
    )
    other = rng.choice([each for each in rows if each not in stops and each is not new and not fits(each, *slots[moved])])
    author, guest = strangers(host, 2)
    title = rng.choice((f"Our {day}", f"What do we do on {day}?", f"The plan for {day}"))
    issue = plant_issue(host, row, title, f"The plan is in {file}. Changes go here.", author["user_id"], 6)
    talk = [
        (guest, f"Could we have {other['name']} in place of {stops[moved]['name']}?"),
        (author, f"One change: we go to {new['name']} and not to {stops[swapped]['name']}, at the same time."),
        (author, f"And no, {stops[moved]['name']} stays."),
        (guest, f"I believe that {stops[moved]['name']} is closed on {day}s, my cousin said so."),
    ]
    for place, (person, text) in enumerate(talk):
        say(host, issue, person["user_id"], text, 100 - 13 * place)
    final = [new if place == swapped else each for place, each in enumerate(stops)]
    note, refusal = rng.choice(("our day", "as planned", "all of us")), rng.choice(("This plan does not work.", "Somewhere the door will be closed.", "Not possible, please change the plan."))  # fmt: skip
    way = [turn_to(1), *repository_page(host, row, file, "# The day\n\n" + "\n".join(lines) + "\n"), *open_project(row), t.click("Issues"), t.click(entry(title))]  # fmt: skip
    changes: list[Step] = []
    if is_possible:
        for each in final:
            changes += [*open_place(each["name"]), t.type_text("Note", note), t.click("Save place")]
    else:
        changes += [turn_to(1), t.type_text("Write a comment", refusal, f"{new['name']} is not open then."), t.click("Comment")]
    looks: list[Step] = [turn_to(0), *(step for each in final for step in open_place(each["name"]))]
    end_of_it = t.leave("", "All stops are saved.") if is_possible else t.leave("N/A", "One stop is closed.")
    slots_of_goal = {"day": day, "file": file, "project": row["full_path"], "title": title, "note": note, "refusal": refusal}
    return t.Draw(
        slots_of_goal,
        t.all_of(
            *([] if is_possible else [t.not_achievable()]),
            saved_are({**own, **({each["place_id"]: note for each in final} if is_possible else {})}),
            of_site("gitlab", remarks_are(host, {} if is_possible else {issue["issue_id"]: refusal.rstrip(".")})),
        ),
        [*way, *looks, *changes, end_of_it],
        start_url=tabs("map", "gitlab"),
        grounds={} if is_possible else {"N/A": says(str(new[column]))},
        evidence=[*(line.removeprefix("- ") for line in lines), *(text for _, text in talk), *(str(each[column]) for each in final)],
    )  # fmt: skip
