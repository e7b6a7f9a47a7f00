"""Every kind of control that real applications have: each step must have the effect that it has for a person in Chromium.

`control_pages.CASES` are the pages; a person does each with plain Playwright, an agent with `gymnasium.make(..., application=...)`, and both
must come to the same. In process, what HTML alone does must work, and what needs scripts must be told. `MISSES` has what does not, and why.
"""

import json
import math
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import gymnasium
import pytest

import webarena_gym  # noqa: F401 - registers the env
from tests import needs
from tests.control_pages import FILES, RUNS, expected, steps_of
from tests.processes import ends, pid_of
from webarena_gym.applications.application import Application
from webarena_gym.applications.processes import close_all
from webarena_gym.errors import SnapshotError
from webarena_gym.tasks import Task
from webarena_gym.tasks.template import at_url

HERE = Path(__file__).parent
MISSES = {("script", "a double click"): "no dialect has an action for it"}
"""What an agent cannot do, with its cause; the person can."""
TASK = Task("one", ("controls",), "__CONTROLS__/echo", "Look.", at_url("__CONTROLS__/none"), require_login=False)
IDS = [f"{one.kind}: {one.variant}{f' ({value})' if value else ''}" for one, value in RUNS]
runs = pytest.mark.parametrize("run", range(len(RUNS)), ids=IDS)


@pytest.fixture(scope="module")
def make_env(tmp_path_factory):
    """Make envs on the pages, one for each browser."""
    uploads, made = tmp_path_factory.mktemp("uploads"), {}
    for name, content in FILES.items():
        (uploads / name).write_bytes(content)
    application = Application(
        name="controls", folder=str(HERE), command=f"{sys.executable} control_pages.py {{port}}", uploads=str(uploads), ready="/echo"
    )  # fmt: skip

    def make(browser):
        if browser not in made:
            made[browser] = gymnasium.make(
                "WebArenaLite-v0", application=application, tasks=[TASK], browser=browser, elements="label", dialect="browsergym",
                max_steps=1_000_000, history="none", window=100_000,
            )  # fmt: skip
            made[browser].reset()
        return made[browser]

    yield make
    for env in made.values():
        env.close()
    close_all()


REPLIES = {
    "Click": "click({0})", "Get": "click({0})", "Refused": "click({0})", "Upload": "select_option({0}, {1})", "Select": "select_option({0}, {1})",
    "Choose": "click({0})\nselect_option({0}, {1})", "Type": "fill({0}, {1})", "Hover": "hover({0})", "RightClick": 'click({0}, button="right")',
    "Drag": "drag_and_drop({0}, {1})", "Press": "press({0}, {1})", "Scroll": "scroll(0, 480)", "Wait": "noop()", "Unlisted": "-",
}  # fmt: skip
"""What an agent replies to do a step; "-" looks on the page instead."""


def replies_of(one, value):
    """Return what an agent replies, step by step, with the element that a step is about."""
    dialogs = []
    for verb, element, text in steps_of(one, value):
        if verb == "Dialog":
            dialogs.append(element)
            continue
        reply = "keyboard_press({1})" if verb == "Press" and not element else REPLIES[verb]
        yield from ((each.format(json.dumps(element), json.dumps(text)), element) for each in reply.split("\n"))
        if verb == "Wait" or "Wait" not in one.steps:
            for name in dialogs if one.variant != "alert" else ():
                if name.startswith("="):
                    yield f"fill('Answer', {json.dumps(name[2:])})", name
                is_key, button = name in ("Enter", "Escape"), "Cancel" if name == "Cancel" else "OK"
                yield f"keyboard_press('{name}')" if is_key else f"click('{button}')", name
            dialogs.clear()


def play(env, run):
    """Return the text of the page after an agent has done a case, and what went wrong before."""
    one, value = RUNS[run]
    _, _, _, _, info = env.step(f"goto('http://controls.test/page/{run}')")
    first, problems, messages = info["page"], [], []
    for action, element in replies_of(one, value):
        if action == "-":
            problems += [f"{element} is listed"] if element in env.unwrapped.observation.nodes else []
            continue
        _, _, _, _, info = env.step(action)
        messages.append(info["page"])
        if "failure" in info:
            env.reset()
            problems.append(info["failure"])
            break
        if info["action_error"] and "Refused" not in one.steps and "scroll" not in action:
            problems.append(f"{action}: {info['action_error']}")
    while len(env.unwrapped.page.tabs) > 1:
        env.step("tab_close()")
    return first, "\n".join(messages), problems


def fits(one, value, text):
    """Say whether a page shows what a case comes to."""
    target = expected(one, value)
    shown = re.sub(" *\n", "\n", text.replace("&lt;", "<")) + "\n"
    return (target if target.startswith("Downloaded") else f"Out: {target}\n") in shown


class Person:
    """Does the steps of a case with plain Playwright: with the mouse, the keys, and what a window of the browser asks."""

    def __init__(self, page, url):
        self.page, self.message, self.dialogs = page, "", []
        page.on("dialog", self.answer)
        page.goto(url)

    def answer(self, dialog):
        name, _ = self.dialogs.pop(0)
        if name.startswith("="):
            dialog.accept(name[2:])
        else:
            dialog.accept(dialog.default_value) if name in ("OK", "Enter") else dialog.dismiss()

    def find(self, label, *, is_shown=True):
        """Return what a person would call so."""
        for _ in range(40):
            for frame in self.page.frames:
                ways = [frame.get_by_role(role, name=label, exact=True) for role in ("button", "link", "tab")]
                texts = (frame.get_by_label, frame.get_by_title, frame.get_by_alt_text, frame.get_by_text)
                ways += [by(label, exact=True) for by in texts] + [frame.locator(f'[aria-placeholder="{label}"]')]
                ways += [frame.get_by_label(label), frame.get_by_text(label)]
                for way in ways:
                    with suppress(Exception):  # the frame may go away
                        found = [each for each in way.all() if not is_shown or each.is_visible()]
                        if found:
                            return found[0]
            self.page.wait_for_timeout(50)
        raise AssertionError(f"nothing is called {label}")

    def do(self, verb, label, text):  # noqa: C901 - one line a verb
        page = self.page
        match verb:
            case "Dialog":
                self.dialogs.append((label, text))
            case "Click":
                self.find(label).click(force=label == "Send" and "aria-disabled" in page.content())
            case "Get":
                with page.expect_download() as got:
                    self.find(label).click()
                self.message = f"Downloaded {got.value.suggested_filename}"
                self.saved = got.value.path().read_bytes()
            case "Upload":
                field = self.find(label, is_shown=False)
                names = [*self.chosen, text] if field.evaluate("(it) => (it.control ?? it).multiple") else [text]
                self.chosen = names
                content = [{"name": name, "mimeType": "", "buffer": FILES.get(name) or self.saved} for name in names]
                field.set_input_files(content)
            case "Choose":
                with page.expect_file_chooser() as chooser:
                    self.find(label).click()
                chooser.value.set_files([{"name": text, "mimeType": "", "buffer": FILES[text]}])
            case "Type":
                field = self.find(label)
                if field.evaluate("it => /^(date|time|month|week|datetime-local|color|range)$/.test(it.type)"):
                    field.fill(text)
                else:
                    field.focus()
                    if field.evaluate("(it) => it.isContentEditable || 'value' in it"):
                        page.keyboard.press("Control+A")
                    page.keyboard.type(text)
            case "Select":
                field = self.find(label)
                before = field.evaluate("(it) => [...it.selectedOptions].filter(() => it.multiple).map((one) => one.text)")
                field.select_option(label=[*before, text])
            case "Hover":
                self.find(label).hover()
            case "RightClick":
                self.find(label).click(button="right")
            case "Drag":
                self.find(label).drag_to(self.find(text))
            case "Press":
                if label:
                    self.find(label).focus()
                page.keyboard.press(text)
            case "Scroll":
                page.mouse.wheel(0, 100_000)
                page.wait_for_timeout(200)
            case "Wait":
                page.wait_for_timeout(700)
            case "Refused":
                assert self.find(label).is_disabled()
            case "Unlisted":
                named = page.get_by_text(label, exact=True)
                assert not named.filter(visible=True).count() or named.first.evaluate(_UNREACHED)

    chosen: tuple = ()
    saved = b""


_UNREACHED = """(it) => { const box = it.getBoundingClientRect(), hit = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
    return !hit || !it.contains(hit) }"""


@pytest.fixture(scope="module")
def strolls():
    """Open pages of the application for a person."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    serving = subprocess.Popen([sys.executable, str(HERE / "control_pages.py"), str(port)])
    with needs.opened_chromium() as chromium:
        for _ in range(200):
            with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            threading.Event().wait(0.05)

        def open_page(run):
            return Person(chromium.new_context(accept_downloads=True).new_page(), f"http://127.0.0.1:{port}/page/{run}")

        yield open_page
    serving.kill()
    serving.wait()


@needs.chromium
@runs
@pytest.mark.sampled(20)
def test_a_person_comes_to_what_is_expected(strolls, run):
    one, value = RUNS[run]
    person = strolls(run)
    for step in steps_of(one, value):
        if (one.kind, one.variant) == ("script", "a double click"):
            person.find(step[1]).dblclick()
        else:
            person.do(*step)
    for _ in range(40):
        newest = person.page.context.pages[-1]
        text = person.message + "\n".join(frame.inner_text("body") for frame in newest.frames if not frame.is_detached())
        if fits(one, value, text.replace("\xa0", " ")):
            break
        newest.wait_for_timeout(50)
    else:
        raise AssertionError(text)
    person.page.context.close()


@needs.chromium
@runs
@pytest.mark.sampled(8)
def test_each_step_has_the_effect_that_it_has_for_a_person(make_env, run):
    one, value = RUNS[run]
    first, text, problems = play(make_env("chromium"), run)
    if (one.kind, one.variant) in MISSES:
        assert problems or not fits(one, value, text)
    else:
        assert (problems, fits(one, value, text)) == ([], True), text or first


@runs
def test_in_process_html_controls_work_and_scripts_are_reported(make_env, run):
    one, value = RUNS[run]
    first, text, problems = play(make_env("inprocess"), run)
    if one.is_html:
        assert (problems, fits(one, value, text)) == ([], True), text or first
    else:
        assert one.how in first + text + " ".join(problems), text or first


@pytest.mark.parametrize("browser", ["inprocess", pytest.param("chromium", marks=needs.chromium)])
def test_files_go_with_a_snapshot(make_env, browser):
    env = make_env(browser)
    run = next(place for place, (one, _) in enumerate(RUNS) if one.variant == "sent back")
    env.reset()  # other tests download, too
    env.step(f"goto('http://controls.test/page/{run}')")
    page = env.step("click('Fetch')")[4]["page"]
    assert "Browser: Downloaded report.csv, 17 bytes: id,name 7,Report" in page
    assert "available files: a.csv, photo.png, two words.txt, report.csv" in page
    env.step("fill('File', 'report.csv')")
    before = env.unwrapped.snapshot()
    for _ in range(2):
        page = env.unwrapped.restore(before)[1]["page"]
        assert '<input label="File" type="file" value="report.csv"' in page
        assert "f=report.csv" in env.step("click('Send')")[4]["page"]
    env.step(f"goto('http://controls.test/page/{run}')")
    error = env.step("select_option('File', 'none.txt')")[4]["action_error"]
    assert 'takes a file by its name, not "none.txt"; available files: a.csv,' in error
    env.reset()
    env.step(f"goto('http://controls.test/page/{run}')")
    assert (
        "available files: a.csv, photo.png, two words.txt\n" in env.unwrapped.observation.text
    )  # no downloads of another episode


@needs.chromium
def test_an_open_dialog_is_in_the_way_and_is_a_picture_too(make_env):
    env = make_env("chromium")
    run = next(place for place, (one, _) in enumerate(RUNS) if one.variant == "prompt")
    env.step(f"goto('http://controls.test/page/{run}')")
    page = env.step("click('Go')")[4]["page"]
    buttons = "<button>OK</button> <button>Cancel</button>"
    assert [line for line in page.splitlines() if "<" in line] == ['<input label="Answer" value="Bob">', buttons]
    for reply in (
        "go_back()", "noop()", "goto('http://controls.test/echo')", "new_tab()", "keyboard_press('a')", "scroll(0, 9)",
    ):  # fmt: skip
        assert "a dialog is open" in env.step(reply)[4]["action_error"]
    with pytest.raises(SnapshotError, match="a dialog is open"):
        env.unwrapped.snapshot()
    browser = env.unwrapped.backend.browser
    assert browser.screenshot().startswith(b"\x89PNG")
    assert browser.run_script("out.textContent") == "nobody"  # it is dismissed for whoever looks into the page
    env.step("click('Go')")
    assert "Out:" in env.reset()[0]


@needs.chromium
def test_sockets_lead_to_the_application_alone_and_its_death_is_no_zero(make_env):
    env = make_env("chromium")
    env.reset()
    ask = "new Promise((done) => {{ const it = new WebSocket('ws://{}'); it.onopen = () => done('open'); it.onerror = () => done('refused') }})"
    with socket.create_server(("127.0.0.1", 0)) as elsewhere:
        elsewhere.setblocking(False)
        port = elsewhere.getsockname()[1]
        browser = env.unwrapped.backend.browser
        for place in (f"127.0.0.1:{port}", f"localhost:{port}", f"controls.test:{port}", "other.test", "controls.test:81"):
            assert browser.run_script(ask.format(place)) == "refused"
        assert browser.run_script(ask.format("controls.test/socket")) == "open"
        with pytest.raises(BlockingIOError):
            elsewhere.accept()
    pid = pid_of(env.unwrapped.backend._current)
    os.kill(pid, signal.SIGKILL)
    assert ends(pid)
    _, reward, _, truncated, info = env.unwrapped.step("send_msg_to_user('done')")
    assert math.isnan(reward)
    assert truncated
    assert "controls has died" in info["failure"]
    env.reset()


def test_steps_are_many_and_misses_are_few():
    count = sum(verb != "Unlisted" for run in RUNS for verb, _, _ in steps_of(*run))
    missed = sum(len(list(steps_of(one, value))) for one, value in RUNS if (one.kind, one.variant) in MISSES)
    assert count >= 500
    assert missed <= 0.02 * count
