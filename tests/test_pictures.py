"""Observations with pictures: what they hold, what is drawn on them, how long they are kept, and how chats carry them."""

import base64
import os
import pickle
import subprocess
import sys
from io import BytesIO

import gymnasium
import numpy
import pytest
from gymnasium.utils.env_checker import check_env
from PIL import Image

from tests import needs
from tests.documents import ROOT, blocks
from webarena_gym.observation.pictures import MAX_BOXES, Capture, attach_pictures, messages_for, picture_of
from webarena_gym.spaces import picture_space

TASK = "shopping.checkout/1000/0"
CHAT = [
    {"role": "system", "content": "Act."}, {"role": "user", "content": "Round 0"},
    {"role": "assistant", "content": "go_backward()"}, {"role": "user", "content": "Round 1"},
]  # fmt: skip


def png(width=100, height=60):
    written = BytesIO()
    Image.new("RGB", (width, height), "white").save(written, "png")
    return written.getvalue()


def decoded(url):
    return numpy.asarray(Image.open(BytesIO(base64.b64decode(url.partition(",")[2]))).convert("RGB"))


def test_a_picture_is_an_array_boxes_and_a_data_url_of_the_same():
    picture = picture_of(Capture(png(), [(7, 20, 20, 60, 40)], (5, 5)), "png")
    assert (picture.pixels.shape, picture.pixels.dtype) == ((60, 100, 3), numpy.uint8)
    assert (picture.pixels == 255).all()
    assert (picture.boxes.shape, picture.boxes[:2].tolist()) == ((MAX_BOXES, 5), [[7, 20, 20, 60, 40], [-1] * 5])
    assert (decoded(picture.url) == picture.pixels).all()


@pytest.mark.parametrize("kind", ["png", "jpeg"])
def test_marks_and_the_cursor_are_drawn_on_the_picture(kind):
    capture = Capture(png(), [(7, 20, 20, 60, 40)], (80, 30))
    marked = picture_of(capture, kind, marks=True)
    dark = (marked.pixels < 200).any(axis=2)
    assert dark[20, 40]  # the upper edge of the box
    assert dark[39, 40]
    assert dark[10:20, 20:30].any()  # the number above it
    assert not dark[30, 40]
    assert not dark[30:45, 80:90].any()
    assert (decoded(marked.url) == marked.pixels).all()
    pointed = picture_of(capture, kind, cursor=True)
    assert (pointed.pixels[30:50, 80:95] < 100).any()
    assert not (pointed.pixels[:, :70] < 200).any()


def test_more_elements_than_there_are_boxes_for_are_left_out():
    boxes = [(number, 0, 0, 5, 5) for number in range(MAX_BOXES + 9)]
    assert picture_of(Capture(png(), boxes), "png").boxes[-1, 0] == MAX_BOXES - 1


def test_pictures_go_to_the_newest_messages_in_the_shape_of_each_vendor():
    urls = ["data:image/png;base64,AA==", "data:image/jpeg;base64,BB=="]
    one, two = attach_pictures(CHAT, urls[1:]), attach_pictures(CHAT, urls)
    assert [len(message["content"]) for message in one if message["role"] == "user"] == [1, 2]
    assert two[1]["content"] == [{"type": "text", "text": "Round 0"}, {"type": "image_url", "image_url": {"url": urls[0]}}]
    assert [two[0], two[2]] == [CHAT[0], CHAT[2]]
    assert messages_for("openai", two) == two
    assert messages_for("qwen", two)[3]["content"][1] == {"type": "image", "image": urls[1]}
    source = {"type": "base64", "media_type": "image/jpeg", "data": "BB=="}
    assert messages_for("anthropic", two)[3]["content"][1] == {"type": "image", "source": source}
    assert attach_pictures(CHAT[3:], urls)[0]["content"][1]["image_url"]["url"] == urls[1]


def make(opened, **options):
    return opened(gymnasium.make("WebArenaLite-v0", browser="chromium", tasks=[TASK], **options).unwrapped)


@pytest.mark.sampled(3)
@needs.chromium
@pytest.mark.parametrize("style", ["pixels", "marks", "text+pixels"])
def test_each_style_is_a_declared_dictionary_and_its_numbers_can_be_clicked(opened, style):
    env, text = make(opened, observation=style, picture_format="png", window_size=[960, 320]), make(opened)
    if style == "marks":
        check_env(env, skip_render_check=True)
    plain, _ = text.reset(seed=1)
    seen, info = env.reset(seed=1)
    assert seen in env.observation_space
    assert env.observation_space == picture_space(960, 320)
    assert seen["screenshot"].std() > 1
    assert "Task Instruction:" in seen["text"]
    assert (seen["text"] == plain) == (style == "text+pixels")
    assert ("button 'Search'" in seen["text"]) == (style == "marks")
    assert decoded(info["messages"][-1]["content"][1]["image_url"]["url"]).tolist() == seen["screenshot"].tolist()
    boxes = {int(row[0]): row[1:].tolist() for row in seen["boxes"] if row[0] >= 0}
    assert all(0 <= left < right <= 960 and 0 <= top < bottom <= 320 for left, top, right, bottom in boxes.values())
    (number,) = [address for address, node in env.observation.nodes.items() if "My Account" in node.element.text_content()]
    assert int(number) in boxes
    assert (
        "Sign In" in env.page.root.text_content()
        or env.step(f'do(action="Click", element="{number}")')[4]["action_error"] == ""
    )
    assert env.page.url != info["url"]


@needs.chromium
def test_history_keeps_the_newest_pictures_and_lines_for_the_others(opened):
    env = make(opened, observation="pixels", pictures=2)
    env.reset()
    for way in ("Down", "Up", "Down"):
        seen, _, _, _, info = env.step(f'do(action="Scroll {way}")')
    users = [message["content"] for message in info["messages"] if message["role"] == "user"]
    assert [len(parts) for parts in users] == [1, 1, 2, 2]
    assert users[1][0]["text"] == "Round 1\n\n** Screenshot **"
    assert users[2][1] != users[3][1]
    assert seen["text"].count("** Screenshot **") == 3


@needs.chromium
def test_equal_seeds_give_equal_pictures_and_a_snapshot_goes_on_where_it_was_scrolled(opened):
    env, other = make(opened, observation="pixels", cursor=True), make(opened, observation="pixels", cursor=True)
    env.reset(seed=1)
    for reply in ('do(action="Hover", element="3")', 'do(action="Scroll Down")'):
        seen = env.step(reply)[0]
    restored, _ = other.restore(pickle.loads(pickle.dumps(env.snapshot())))
    again, _ = env.reset(seed=1)
    fresh, _ = other.reset(seed=1)
    assert not numpy.array_equal(seen["screenshot"], again["screenshot"])
    for one, two in ((seen, restored), (again, fresh)):
        assert all(numpy.array_equal(one[key], two[key]) for key in one)


@needs.chromium
def test_a_phone_s_window_is_as_large_as_was_asked_for(opened):
    env = make(opened, observation="pixels", window_size=[390, 844])
    seen, _ = env.reset()
    assert seen["screenshot"].shape == (844, 390, 3)
    assert seen in env.observation_space
    assert seen["boxes"][:, 3].max() <= 390


@needs.chromium
@pytest.mark.slow  # of the forum, a second picture differs in about half of the runs
def test_the_first_picture_of_a_page_has_its_lazy_images(opened):
    env = make(opened, observation="pixels", dialect="computer", picture_format="png")
    env.reset(seed=1)
    for url in ("http://shop.test/pet-supplies.html", "http://code.test/explore", "http://forum.test/f/AskTravel"):
        seen = env.step(f'{{"action": "goto", "url": "{url}"}}')[0]["screenshot"]
        later = env.step('{"type": "wait"}')[0]["screenshot"]
        assert numpy.array_equal(seen, later), url
        scrolled = env.step('{"type": "scroll", "x": 600, "y": 400, "scroll_x": 0, "scroll_y": 600}')[0]["screenshot"]
        assert numpy.array_equal(scrolled, env.step('{"type": "wait"}')[0]["screenshot"]), url


@needs.chromium
def test_many_envs_give_stacked_pictures(opened):
    options = {"browser": "chromium", "tasks": [TASK], "observation": "pixels", "window_size": (320, 240)}
    envs = opened(gymnasium.make_vec("WebArenaLite-v0", num_envs=2, workers=2, **options))
    alone = opened(gymnasium.make("WebArenaLite-v0", **options).unwrapped)
    seen, _ = envs.reset(seed=1)
    assert seen in envs.observation_space
    assert seen["screenshot"].shape == (2, 240, 320, 3)
    expected, _ = alone.reset(seed=1)
    after, *_ = envs.step(['do(action="Scroll Down")', 'do(action="Wait")'])
    assert numpy.array_equal(after["screenshot"][1], expected["screenshot"])
    assert not numpy.array_equal(after["screenshot"][0], expected["screenshot"])
    assert numpy.array_equal(seen["screenshot"][0], expected["screenshot"])  # a copy, which the step has left alone


@needs.chromium
def test_the_guide_runs(tmp_path):
    code = "\n".join(block.code for block in blocks(ROOT / "docs/guides/eyes.md", "python"))
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    options = {"cwd": tmp_path, "env": environment, "capture_output": True, "text": True, "timeout": 300}
    done = subprocess.run([sys.executable, "-c", code], check=False, **options)
    assert done.returncode == 0, done.stderr[-2000:]
    lines = done.stdout.splitlines()
    searched = "http://shop.test/catalogsearch/result/?q=Glanise "
    outside = f"{searched}(1900, 90) is outside of the window, which is 1280 pixels wide and 720 high"
    assert (lines[0], lines[2]) == ("(720, 1280, 3) uint8", "['text', 'image']")
    assert lines[3:8] == ["http://shop.test/ ", searched, searched, outside, "1.0"]
