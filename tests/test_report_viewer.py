"""The report in Chromium: what a person sees, finds and searches."""

import hashlib
import math
import random
import re
from dataclasses import replace

import pytest

from agents.data.trajectories import Candidate, Step, Trajectory, read_trajectories, write_trajectories
from agents.evaluation.report.document import write_report
from agents.evaluation.report.episodes import Replay, ReplayedPage, Replayer
from agents.evaluation.report.sources import Sources
from tests import needs
from tests.reports import HOSTILE, HOSTILE_PAGE, trajectory
from tests.reports import expert as expert
from tests.reports import numbered as numbered
from tests.reports import shop_tasks as shop_tasks


@pytest.fixture(scope="module")
def report(tmp_path_factory, expert):
    """A report of the expert, of a policy whose every text and page is hostile, and of two runs."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    runs = {
        "first": [{"update": n, "elapsed_s": 2.0 * n, "success": n / 40, "loss": 1 / n} for n in range(1, 31)],
        "second": [{"update": n, "elapsed_s": 9.0 * n, "success": 0.5, "odd": 1.0} for n in range(1, 11)],
    }
    original = Replayer.replay

    def replay(self, task, episode):
        return original(self, task, episode) if task.template else Replay([ReplayedPage(HOSTILE_PAGE, "Here")] * 2, [])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Replayer, "replay", replay)
        write_report(path, Sources(runs, {"expert": expert, HOSTILE: [trajectory()]}), title="Title")
    return path.as_uri()


@pytest.fixture
def open_report(chromium, report):
    """Open the report, at a fragment, and fail for errors and for anything asked of a network: what a page asks for, the policy of the file stops."""
    problems, pages, calls = [], [], []

    def open_page(fragment="", **options):
        page = chromium.new_page(**options)
        pages.append(page)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("request", lambda request: calls.append((page, request)) if request.url.startswith("http") else None)
        page.goto(report + fragment)
        page.wait_for_selector("#viewer:not([hidden])")
        return page

    yield open_page
    for page, request in calls:
        while request.failure is None:  # a page that is closed does not say how its requests ended
            page.wait_for_event("requestfailed")
    for page in pages:
        page.close()
    assert not problems + [request.url for _, request in calls if request.failure != "csp"]


def shown_page(page):
    return page.frame_locator("#frame")


@needs.chromium
def test_results_and_curves_are_seen(open_report):
    page = open_report()
    assert page.locator("#results tbody tr").first.inner_text().split()[:3] == ["expert", "100.0", "%"]
    assert page.locator("figcaption").all_inner_texts() == ["Training success of sampled rollouts (no score)", "Loss"]
    assert page.locator("figure .line").count() == 6  # each with its points behind the mean of five
    page.locator("#curve-smoothing").select_option("1")
    assert page.locator("figure .line").count() == 3
    legend = page.locator("figure .legend").first
    assert legend.inner_text().split() == ["first", "0.75", "at", "30", "second", "0.5", "at", "10"]
    page.locator("figure svg").first.hover(position={"x": 60, "y": 60})
    assert legend.inner_text().split()[:4] != ["first", "0.75", "at", "30"]
    page.get_by_role("checkbox", name="second").uncheck()
    page.get_by_role("checkbox", name="odd").check()
    page.locator("#curve-axis").select_option("elapsed_s")
    page.locator("#curve-smoothing").select_option("5")
    titles = ["Training success of sampled rollouts (no score)", "Loss"]  # only the second run has the metric "odd"
    assert page.locator("figcaption").all_inner_texts() == titles
    assert legend.inner_text().split() == ["first", "0.725", "at", "60"]
    notes = page.inner_text("#curve-notes")
    assert "first: 30 updates; every update is a point, and the strong line the mean of 5 points" in notes
    page.locator("figure svg").first.focus()
    page.keyboard.press("ArrowLeft")
    assert legend.inner_text().split()[-1] == "58"


@needs.chromium
def test_an_interval_is_a_band_around_its_line_and_no_metric_of_its_own(chromium, tmp_path):
    points = [
        {"update": n, "held_out": n / 40, "held_out_low": n / 50, "held_out_high": n / 30, "loss": 1.0} for n in (0, 10, 20)
    ]
    write_report(tmp_path / "report.html", Sources({"run": points, "other": [{"update": 1, "loss": 2.0}]}), title="Title")
    page = chromium.new_page()
    page.goto((tmp_path / "report.html").as_uri(), wait_until="commit")
    assert page.locator("figcaption").all_inner_texts() == ["Success on held-out worlds, with 95 % CI", "Loss"]
    assert page.locator("#curve-metrics label").count() == 2
    assert page.locator("figure").first.locator(".band").count() == 1
    assert page.locator("figure .band").count() == 1
    assert page.locator("figure .band").get_attribute("d").count("L") == 5  # three low points, and three high ones back
    assert page.locator("figure .legend").first.inner_text().split() == ["run", "0.5", "at", "20"]  # it is not smoothed
    page.close()


@pytest.fixture
def open_file(chromium, tmp_path):
    """Write a report of some policies, and open it at a fragment."""

    def write_and_open(policies, fragment="", **options):
        write_report(tmp_path / "report.html", Sources({}, policies), title="Title", **options)
        page = chromium.new_page(viewport={"width": 1280, "height": 800})
        opened.append(page)
        page.goto((tmp_path / "report.html").as_uri() + fragment, wait_until="commit")
        page.wait_for_selector("#viewer:not([hidden])")
        return page

    opened = []
    yield write_and_open
    for page in opened:
        page.close()


@needs.chromium
def test_it_opens_with_a_task_that_was_learned_and_one_that_was_not(open_file):
    outcomes = {"t/1": (1.0, 1.0), "t/2": (0.0, 0.0), "t/3": (0.0, 1.0)}
    before, after = ([trajectory(own[place], task_id=task) for task, own in outcomes.items()] for place in (0, 1))
    page = open_file({"cloned": before, "reinforced": after})
    page.wait_for_selector("#about:has-text('reinforced, t/3')")
    lines = [line.split() for line in page.locator("#telling li").all_inner_texts()]
    assert [line[:3] for line in lines] == [["Solved", "by", "“reinforced”"], ["Solved", "by", "neither"]]
    page.locator("#telling a").nth(2).click()
    page.wait_for_selector("#about:has-text('cloned, t/2')")
    first, second = (page.locator(part).bounding_box()["y"] for part in ("#viewer", "#results"))
    assert first < second


@needs.chromium
@pytest.mark.parametrize("width", [800, 1280])
def test_neither_a_page_nor_a_bar_is_cut_or_wrapped(open_report, width):
    page = open_report("#episode/expert/1/1", viewport={"width": width, "height": 800})
    shown_page(page).locator("[data-marked]").wait_for()
    for part in ("#window", "#stage", "#results .scroll", "body"):
        assert page.locator(part).first.evaluate("element => element.scrollWidth <= element.clientWidth"), part
    bars = page.locator(".interval").evaluate_all(
        "bars => bars.map(bar => bar.getBoundingClientRect().left - bar.closest('td').getBoundingClientRect().left)"
    )
    assert len(set(bars)) == 1


@needs.chromium
def test_an_episode_is_stepped_through_with_the_keyboard(open_report, expert):
    page = open_report("#episode/expert/1/1")
    steps = len(expert[0].steps)
    assert page.inner_text("#goal") == expert[0].goal
    for number, step in enumerate(expert[0].steps, 1):
        page.wait_for_selector(f"#strip a[aria-current=step]:text-is('{number}')")
        assert page.inner_text("#text") == step.page
        assert page.inner_text(".action") == step.reply
        if number < steps:  # the last reply leaves, and names no element
            marked = shown_page(page).locator("[data-marked]")
            marked.wait_for(state="visible")
            label = re.search(r'element="(.*?)"', step.reply).group(1)
            assert label in page.inner_text("#text mark")
            outer, inner = page.locator("#window").bounding_box(), marked.bounding_box()
            assert outer["y"] <= inner["y"] <= outer["y"] + outer["height"]
            assert marked.evaluate("element => getComputedStyle(element).outlineStyle") == "solid"
        page.keyboard.press("j" if number % 2 else "ArrowRight")
    page.wait_for_selector("#strip a[aria-current=step]:text-is('end')")
    assert page.url.endswith("#episode/expert/1/end")
    assert page.locator(".verdicts li").count() == len(expert[0].verdicts)
    assert page.locator(".verdicts .good").count() == len(expert[0].verdicts)
    assert page.inner_text(".told").startswith("Solved.")
    assert not page.locator("#text-pane").is_visible()
    page.keyboard.press("k")
    page.wait_for_url(re.compile(f"#episode/expert/1/{steps}$"))
    page.keyboard.press("n")
    page.wait_for_url(re.compile("#episode/.*/1/1$"))
    assert not page.url.endswith("#episode/expert/1/1")


@needs.chromium
def test_report_pages_have_styles_and_pictures_and_adapt_to_phones_and_dark_mode(open_report):
    page = open_report("#episode/expert/1/1")
    picture = shown_page(page).locator("img").first
    picture.wait_for()  # before it, the frame may still be on its way from its empty page
    body = shown_page(page).locator("body")
    assert "serif" not in body.evaluate("element => getComputedStyle(element).fontFamily").replace("sans-serif", "")
    assert picture.evaluate("image => image.naturalWidth") > 0
    page = open_report("#episode/expert/1/1", viewport={"width": 375, "height": 700}, color_scheme="dark")
    assert page.evaluate("document.documentElement.scrollWidth") == 375
    red, green, blue = map(int, re.findall(r"\d+", page.evaluate("getComputedStyle(document.body).backgroundColor"))[:3])
    assert max(red, green, blue) < 60


@needs.chromium
def test_filters_follow_the_url_and_may_match_nothing(open_report):
    page = open_report()
    page.wait_for_selector("#count:text-is('3 of 3 episodes')")
    page.get_by_role("combobox", name="Outcome").select_option("not solved")
    page.wait_for_selector("#count:text-is('1 of 3 episodes')")
    page.get_by_role("combobox", name="Outcome").select_option("")
    page.get_by_role("combobox", name="Template").select_option("shopping.cart_add")
    page.get_by_role("combobox", name="Policy").select_option("expert")
    page.get_by_role("combobox", name="Site").select_option("shopping")
    page.wait_for_url(re.compile(r"#episode/expert/.*/1\?policy=expert&site=shopping&template=shopping.cart_add$"))
    page.wait_for_selector("#about:has-text('shopping.cart_add')")
    page.get_by_role("button", name="Show all").click()
    page.wait_for_selector("#count:text-is('3 of 3 episodes')")
    page = open_report("#episodes?outcome=wrong&cause=url")
    page.wait_for_url(re.compile(r"#episode/.*/1/1\?outcome=wrong&cause=url$"))
    assert page.inner_text("#count") == "1 of 3 episodes"
    assert page.get_by_role("combobox", name="Failure cause").input_value() == "url"
    assert page.inner_text("#goal") == f"Buy {HOSTILE}"
    page.keyboard.press("j")
    page.wait_for_url(re.compile(r"/end\?outcome=wrong&cause=url$"))
    page = open_report()
    page.get_by_role("combobox", name="Policy").select_option("expert")
    page.get_by_role("combobox", name="Outcome").select_option("wrong")
    page.wait_for_selector("#count:text-is('0 of 3 episodes')")
    page.get_by_role("searchbox", name="Search").fill("a")
    page.wait_for_url(re.compile("q=a&"))
    assert page.inner_text("#count") == "0 of 3 episodes"
    page.get_by_role("combobox", name="Policy").select_option("")
    page.wait_for_selector("#count:text-is('1 of 3 episodes')")


PARTS = {
    "goals": lambda episode: episode.goal,
    "pages": lambda episode: episode.steps[-1].page.splitlines()[-1],
    "actions": lambda episode: episode.steps[0].reply,
}


@needs.chromium
@pytest.mark.parametrize("part", PARTS)
def test_search_results_are_highlighted(open_report, expert, part):
    page = open_report()
    for number, episode in enumerate(expert, 1):
        words = PARTS[part](episode).replace('"', " ")
        fits = [all(word.lower() in PARTS[part](item).lower() for word in words.split()) for item in expert]
        own = [place for place, is_there in enumerate(fits, 1) if is_there]
        page.get_by_role("combobox", name="In", exact=True).select_option(label=part)
        page.get_by_role("searchbox", name="Search").fill(words)
        if own == [number]:
            page.wait_for_url(re.compile(rf"#episode/expert/{number}/\d+\?"))
        page.wait_for_selector("#viewer:not([data-found='0'])")
    page.get_by_role("searchbox", name="Search").fill("nothing is like this")
    page.wait_for_selector("#count:text-is('0 of 3 episodes')")


@needs.chromium
def test_tasks_are_sorted_and_chosen_in_their_table(open_report, expert):
    page = open_report()
    page.get_by_text("Tasks, side by side").click()
    rows = page.locator("#tasks-rows tr:not(.spacer)")
    for direction, name in ((1, "steps"), (-1, "steps ▲")):
        page.get_by_role("button", name=name, exact=True).click()
        page.wait_for_url(re.compile(rf"sort={'-' if direction < 0 else ''}steps$"))
        page.wait_for_selector(f"th[aria-sort={'ascending' if direction > 0 else 'descending'}]")
        steps = [float(row.locator("td").nth(2).inner_text()) for row in rows.all()]
        assert steps == sorted(steps, reverse=direction < 0)
        assert len(steps) == 3
    rows.get_by_role("link", name=expert[1].task_id).click()
    page.wait_for_url(re.compile("#episode/expert/2/1"))
    page.wait_for_selector(f"#count:has-text('1 of 3 episodes of the task {expert[1].task_id}')")


@needs.chromium
@pytest.mark.parametrize("count", [2_000, pytest.param(10_000, marks=pytest.mark.slow)])
def test_thousands_of_episodes_open_and_are_filtered_and_searched(open_file, record_property, count):
    """In each of them one word is found that no other has."""
    noise = [hashlib.sha512(str(number).encode()).hexdigest() for number in range(500)]
    pages = ("\n".join([*noise[number % 400 : number % 400 + 60], f"word{number}x"]) for number in range(count))
    episodes = [trajectory(float(place % 3 == 0), page=page, task_id=f"t/{place}") for place, page in enumerate(pages)]
    page = open_file({"large": episodes}, f"#episode/large/{count - 1}/1", pages=False)
    record_property("opened_ms", page.evaluate("performance.now()"))
    assert f"word{count - 2}x" in page.inner_text("#text")
    assert page.locator("#list li").count() < 60
    assert page.locator("#list a[aria-current]").is_visible()
    page.get_by_role("combobox", name="Outcome").select_option("solved")
    page.wait_for_url(re.compile(r"#episode/large/1/1\?outcome=solved$"))
    assert page.inner_text("#count") == f"{-(-count // 3)} of {count} episodes"
    solved = (count - 1) // 3 * 3  # the last of them
    page.get_by_role("searchbox", name="Search").fill(f"word{solved}x")
    page.wait_for_url(re.compile(rf"#episode/large/{solved + 1}/1\?q=word{solved}x&outcome=solved$"), timeout=120_000)
    page.locator("#list").evaluate("list => { list.scrollTop = 1e9 }")
    page.wait_for_selector(f"#count:text-is('1 of {count} episodes')")


@needs.chromium
def test_runs_of_a_task_are_aligned_by_equal_states(open_file):
    def run(*pages, ending="leave"):
        steps = (*(Step(page, f"do {page}") for page in pages[:-1]), Step(pages[-1], ending))
        return Trajectory("t/1", "Goal", steps, 0.0, "exited")

    policies = {
        "first, as given": [run("home", "shop", "cart")],
        "second": [run("home", "help", "shop", "cart")],
        "third": [run("home", "shop", "cart", ending="stay")],
    }
    page = open_file(policies, "#episode/second/1/2")
    for name in ("first, as given 1", "third 1"):
        page.locator("#others-list").get_by_role("link", name=name).click()
        page.wait_for_selector(f"#others-list a[aria-current]:has-text('{name}')")
    page.wait_for_selector("#compared-head th:nth-child(4)")
    cells = [[cell.inner_text() for cell in row.locator("td").all()] for row in page.locator("#compared-rows tr").all()]
    assert cells == [
        ["1  do home", "1  do home", "1  do home"], ["2  do help", "not here", "not here"],
        ["3  do shop", "2  do shop", "2  do shop"], ["4  leave", "3  leave", "3  stay"],
    ]  # fmt: skip
    assert page.inner_text("#parting") == "They part in state 2 of 4."
    assert page.locator("#compared-rows tr.parting").count() == 1
    page.get_by_role("link", name="3  stay").click()
    page.wait_for_url(re.compile(r"#episode/third/1/3\?with="))
    page.wait_for_selector("#compared-head th:nth-child(2):has-text('third 1')")


@needs.chromium
def test_sequences_are_aligned_by_a_longest_common_subsequence(open_report):
    page = open_report()
    drawn = random.Random(3)
    for _ in range(60):
        one, other = ([drawn.choice("abcd") for _ in range(drawn.randrange(9))] for _ in range(2))
        pairs = page.evaluate("([one, other]) => aligned(one, other).map(([a, b]) => [a ?? null, b ?? null])", [one, other])
        both = [(a, b) for a, b in pairs if a is not None and b is not None]
        assert [a for a, _ in pairs if a is not None] == list(range(len(one)))
        assert [b for _, b in pairs if b is not None] == list(range(len(other)))
        assert all(one[a] == other[b] for a, b in both)
        assert len(both) == longest_common(tuple(one), tuple(other))


def longest_common(one, other):
    if not one or not other:
        return 0
    if one[0] == other[0]:
        return 1 + longest_common(one[1:], other[1:])
    return max(longest_common(one[1:], other), longest_common(one, other[1:]))


@needs.chromium
def test_changes_since_the_previous_step_are_shown(open_report, expert):
    number, episode = next((number, item) for number, item in enumerate(expert, 1) if len(item.steps) > 1)
    page = open_report(f"#episode/expert/{number}/1")
    assert page.locator("#changes").is_disabled()
    page.keyboard.press("j")
    page.wait_for_selector("#changes:enabled")
    page.keyboard.press("d")
    page.wait_for_selector("#text ins")
    before, after = (re.sub(r' id="\d+"', "", step.page).splitlines() for step in episode.steps[:2])
    for tag, text, other in (("ins", after, before), ("del", before, after)):
        shown = [re.sub(r' id="\d+"', "", line)[2:].rstrip("\n") for line in page.locator(f"#text {tag}").all_text_contents()]
        assert set(text) - set(other) <= set(shown) <= set(text)
    page.keyboard.press("d")
    page.wait_for_selector("#text:not(:has(ins))")


@needs.chromium
def test_hostile_text_and_hostile_pages_do_nothing(open_report):
    page = open_report()
    page.get_by_role("combobox", name="Outcome").select_option("wrong")
    page.wait_for_selector("#count:text-is('1 of 3 episodes')")
    page.locator("#list a").click()
    shown_page(page).locator("[data-marked]").wait_for()
    assert page.inner_text("#goal") == f"Buy {HOSTILE}"
    assert page.locator("#turn .bad").inner_text().startswith("no </script><script>")
    assert page.locator("#frame").get_attribute("sandbox") == "allow-same-origin"
    page.locator("#window").click()
    page.keyboard.press("j")
    page.wait_for_selector(".verdicts li")
    assert page.evaluate("window.hacked") is None
    assert page.title() == "Title"


@needs.chromium
def test_each_token_has_its_probability_as_a_colour(open_file):
    rng = random.Random(0)
    steps = [
        Step(f"page {number}", "go_backward()", logprobs=tuple(-rng.expovariate(0.7) for _ in range(rng.choice((0, 1, 30)))))
        for number in range(4)
    ]
    steps.append(Step("page", "go_backward()", logprobs=(-0.01, -4.0)))
    page = open_file({"one": [Trajectory("t/1", "Goal", tuple(steps), 0.0, "truncated")]}, "#episode/one/1/1", pages=False)
    for number, step in enumerate(steps, 1):
        page.evaluate(f"location.hash = '#episode/one/1/{number}'")
        page.wait_for_selector(f"#strip a[aria-current=step]:text-is('{number}')")
        tokens = page.locator(".tokens li")
        assert tokens.all_inner_texts() == [str(int(100 * math.exp(value) + 0.5)) for value in step.logprobs]
        if step.logprobs:
            text = page.locator(".field", has=page.locator(".tokens")).locator("p").inner_text()
            entropy = float(re.search(r"entropy ([\d.]+) nats", text).group(1))
            assert entropy == pytest.approx(-sum(step.logprobs) / len(step.logprobs), abs=1e-3)
            assert text.startswith(f"{len(step.logprobs)} token{'' if len(step.logprobs) == 1 else 's'},")
    likely, unlikely = (
        tokens.nth(place).evaluate("element => getComputedStyle(element).borderBottomColor") for place in range(2)
    )
    assert likely != unlikely


@needs.chromium
def test_candidates_and_the_choice_of_a_step_are_shown(open_file, tmp_path, numbered):
    rng = random.Random(0)
    elements = re.findall(r'<a id="(\d+)"', numbered[0].steps[0].page)
    chances = [0.5, 0.3, 0.1, 0.04, 0.0001]
    chosen = rng.sample(elements, len(chances))
    step = replace(
        numbered[0].steps[0],
        candidates=tuple(Candidate(f"click <b>{each}", chance, each) for each, chance in zip(chosen, chances, strict=True)),
        logprobs=(-0.1, -2.0, -0.5),
        tokens=("<b>do", "\n(", "\u00e9)"),
        policy_s=rng.uniform(1, 2),
        env_s=rng.uniform(0.01, 0.02),
    )
    write_trajectories(tmp_path / "one.jsonl", [replace(numbered[0], steps=(step, *numbered[0].steps[1:]))])
    (read,) = read_trajectories(tmp_path / "one.jsonl")
    assert read.steps[0] == step
    assert (read.steps[0].policy_s, read.steps[0].env_s) == (step.policy_s, step.env_s)
    page = open_file({"one": [read]}, "#episode/one/1/1")
    heat = shown_page(page).locator("[data-heat]")
    heat.first.wait_for(state="attached")
    boxes = heat.evaluate_all("""boxes => boxes.map(box => {
      const same = [...document.querySelectorAll("[data-chance]")].find(element => {
        const [own, drawn] = [element.getBoundingClientRect(), box.getBoundingClientRect()];
        return ["left", "top", "width", "height"].every(side => Math.abs(own[side] - drawn[side]) < 1);
      });
      return [same && Number(same.dataset.chance), box.dataset.heat];
    })""")
    assert boxes
    labels = {0.5: "50 %", 0.3: "30 %", 0.1: "10 %", 0.04: "4 %", 0.0001: ""}
    assert all(labels[chance] == label for chance, label in boxes)
    assert page.locator(".candidates li").all_inner_texts() == [
        f"{labels[chance] or '< 0.1 %'} click <b>{each}" for each, chance in zip(chosen, chances, strict=True)
    ]
    assert page.locator(".tokens li").all_inner_texts() == ["<b>do", "\u23ce(", "\u00e9)"]
    labels = re.findall(r"([\d.]+) (m?s) for", page.locator(".seconds").inner_text())
    seconds = [float(value) / (1000 if unit == "ms" else 1) for value, unit in labels]
    assert seconds == pytest.approx([step.policy_s, step.env_s], rel=0.05, abs=5e-5)
    page.keyboard.press("j")
    page.wait_for_selector("#strip a[aria-current=step]:text-is('2')")
    assert page.locator(".candidates").count() == 0
