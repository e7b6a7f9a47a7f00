"""Tasks that need eyes: what their pictures show, that no text tells it, and that Chromium shows it."""

import re
import struct
import zlib
from collections import Counter
from contextlib import closing
from dataclasses import replace

import jinja2
import numpy as np
import pytest

from tests import needs
from webarena_gym import suite
from webarena_gym.env import WebArenaLite
from webarena_gym.sites.kit.pictures import COLOURS, KINDS, THINGS, Canvas, draw, facts
from webarena_gym.sites.shopping.site import site as shop
from webarena_gym.sites.world import load_world
from webarena_gym.tasks import Expert
from webarena_gym.tools.audit import audit
from webarena_gym.tools.audit.pictures import picture_problems, with_other_pictures

TASKS = suite.load("pictures")
TEMPLATES = sorted({task.template for task in TASKS})


def first(name):
    return next(task for task in TASKS if task.template == f"pictures.{name}")


def decoded(png):
    """Return the pixels of a PNG of ours: one chunk of data, RGB, no filters."""
    width, height = struct.unpack(">II", png[16:24])
    length = struct.unpack(">I", png[33:37])[0]
    rows = np.frombuffer(zlib.decompress(png[41 : 41 + length]), np.uint8).reshape(height, 1 + 3 * width)
    assert not rows[:, 0].any()
    return rows[:, 1:].reshape(height, width, 3)


def area(pixels, colour):
    return int((pixels == COLOURS[colour]).all(-1).sum())


@pytest.fixture
def databases():
    with closing(load_world(1003).open()) as opened:
        yield opened


def test_the_split_has_twenty_templates_and_other_pictures_give_the_same_goal_another_truth():
    assert len(TEMPLATES) == 20
    assert Counter(task.template for task in TASKS) == dict.fromkeys(TEMPLATES, 3)
    assert len({task.template for task in TASKS if task.eval_types == ("state",)}) >= 5
    assert {template.name for template in suite.templates().values() if template.needs_eyes} == {*TEMPLATES}
    assert not {template.name for template in suite.select_templates(None)} & {*TEMPLATES}
    task = first("vote_by_photo")
    other = with_other_pictures(task)
    assert (other.intent, other.start_url) == (task.intent, task.start_url)
    assert other.eval != task.eval
    assert with_other_pictures(next(iter(suite.load("test")))) is None


@pytest.mark.parametrize("kind", KINDS)
def test_pictures_follow_from_the_world_and_the_row_alone(kind, databases):
    database = databases["shopping"].connection
    shown = {draw(database, kind, row) for row in range(1, 13)}
    assert len(shown) >= len(THINGS) / 2
    with closing(load_world(1003).open()) as others:
        assert {draw(others["reddit"].connection, kind, row) for row in range(1, 13)} == shown
    database.execute("INSERT INTO world VALUES ('pictures', 'other')")
    assert {draw(database, kind, row) for row in range(1, 13)} != shown


def test_polygons_cover_their_areas_and_slices_of_a_pie_have_their_order(databases):
    canvas = Canvas(40, 20, COLOURS["white"])
    canvas.fill([(10, 5), (30, 5), (30, 15), (10, 15)], COLOURS["red"])
    canvas.fill([(-5, -5), (3.5, -5), (3.5, 30), (-5, 30)], COLOURS["blue"])
    pixels = decoded(canvas.png())
    assert (area(pixels, "red"), area(pixels, "blue")) == (200, 60)
    assert [*pixels[0, 3]] == [(a + 255) // 2 for a in COLOURS["blue"]]
    database = databases["shopping"].connection
    for row in range(1, 9):
        seen, pixels = facts(database, "interests", row), decoded(draw(database, "interests", row))
        areas = [area(pixels, colour) for colour in seen["ranking"]]
        assert areas == sorted(areas, reverse=True)
        assert min(areas) > 2000


@pytest.mark.parametrize("task", [task for task in TASKS if task.grounds], ids=lambda task: task.task_id)
def test_an_answer_is_what_the_pictures_of_its_ground_show(task, databases):
    ((answer, ground),) = task.grounds.items()
    shown = [facts(databases[task.sites[0]].connection, *name.split("/")) for name in ground.operands]
    items = [part.rpartition(": ")[2] for part in answer.split("; ")]
    if "boxes" in task.template:
        boxes = [each["box"] for each in shown]
        assert all(boxes.count(colour) == int(count) for colour, count in (part.split(": ") for part in answer.split("; ")))
        return
    values = [str(value) for each in shown for fact in each.values() for value in (fact if isinstance(fact, list) else [fact])]
    assert items
    assert {*items} <= {*values}


@pytest.mark.parametrize(("name", "variation"), [
    ("save_with_pins", "content"), ("bars_above_the_line", "layout"),
    *(pytest.param(name.partition(".")[2], "content", marks=pytest.mark.slow) for name in TEMPLATES),
])  # fmt: skip
def test_texts_do_not_reveal_the_content_of_pictures(name, variation):
    (task,) = suite.draw([f"pictures.{name}"], world_seed=1003, count=1, variation=variation)
    assert list(picture_problems(task, variation)) == []


@pytest.mark.parametrize(("plain", "leaking"), [
    ('alt="" width="240" height="240">', 'alt="{{ leak(request, product.product_id) }}" width="240" height="240">'),
    ('class="wrapping" src', 'class="wrapping" data-look="{{ leak(request, product.product_id) }}" src'),
    ('/pictures/wrapping/{{ product.product_id }}.png"', '/pictures/wrapping/{{ product.product_id }}.png?{{ leak(request, product.product_id) }}"'),
])  # fmt: skip
def test_revealing_texts_are_detected(plain, leaking, monkeypatch):
    loader = shop.templates.loader
    source, *_ = loader.get_source(shop.templates, "product.html")
    assert plain in source
    leaky = jinja2.ChoiceLoader([jinja2.DictLoader({"product.html": source.replace(plain, leaking)}), loader])
    monkeypatch.setattr(shop.templates, "loader", leaky)

    def leak(request, row):
        seen = facts(request.db, "wrapping", row)
        return seen["box"] + seen["ribbon"]

    monkeypatch.setitem(shop.templates.globals, "leak", leak)
    shop.templates.cache.clear()
    load_world(1003).responses.clear()
    try:
        (problem,) = picture_problems(first("box_and_ribbon"))
        assert re.fullmatch(r"the text of http://\S+ changes with the pictures", problem)
    finally:
        shop.templates.cache.clear()
        load_world(1003).responses.clear()


def test_the_audit_finds_a_picture_that_the_solution_does_not_see(monkeypatch):
    template = suite.templates()["pictures.red_peaks_of_two"]
    (task,) = suite.draw([template.name], world_seed=1003, count=1)
    second = [place for place, step in enumerate(task.solution) if step.action.element == "Contributors"][-1]
    blind = replace(task, solution=(*task.solution[: second - 1], *task.solution[second + 1 :]))
    monkeypatch.setattr("webarena_gym.tools.audit.find", lambda *_, **__: blind)
    findings = audit([blind], side_effects=False)
    assert findings.solved == 1
    (line,) = findings.groundless
    assert line.endswith(
        f": the picture {task.grounds[task.solution[-1].action.argument].operands[1]} is on no page of the solution"
    )


def test_an_address_of_no_picture_is_not_found():
    with WebArenaLite(tasks=[first("pins_around")]) as env:
        env.reset()
        (host,) = [name for name in env.network.hosts if name.startswith("map")]
        known, unknown = (env.network.request("GET", f"http://{host}/pictures/{kind}/7.png") for kind in ("survey", "selfie"))
        assert (known.status, known.header("Content-Type"), unknown.status) == (200, "image/png", 404)
        assert decoded(known.body).shape == (340, 560, 3)


@needs.chromium
def test_chromium_shows_the_pictures():
    task = first("interests_by_size")
    with WebArenaLite(tasks=[task], browser="chromium", render_mode="rgb_array") as env:
        env.reset()
        expert = Expert(task, env.dialect)
        for _ in task.solution[:-1]:
            env.step(expert.reply(env.page, env.observation))
        pixels = env.render()
        colours = task.solution[-1].action.argument.split("; ")
        areas = [area(pixels, colour) for colour in colours]
        assert areas == sorted(areas, reverse=True)
        assert min(areas) > 2000
