"""Agents that see: chat models and models in this process that get pictures, what the report shows of them, and MiniWoB++ by coordinates."""

import base64
import importlib.util
import re
from functools import partial
from io import BytesIO

import numpy
import pytest
import torch
from PIL import Image
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen2_5_VLConfig, Qwen2_5_VLForConditionalGeneration, Qwen2_5_VLProcessor
from transformers import Qwen2VLImageProcessorPil as ImageProcessor

from agents import evaluate as command
from agents.data.trajectories import read_trajectories
from agents.evaluation.report.episodes import Replayer
from agents.evaluation.report.sources import read_sources, task_of
from agents.models.checkpoints import load_vision_model, model_kind
from agents.rollouts.policies import Request, vision_replies
from tests import needs
from tests.chat_server import serving_chat
from tests.errors import expect_error
from webarena_gym.tools import cli

TASK = "shopping.product_price"  # of world 1000: asks for the price of Dimutre
REPLIES = (
    '{"type": "click", "x": 544, "y": 35, "button": "left"}',
    '{"type": "wait"}',
    '{"type": "answer", "text": "$46.50"}',
)  # fmt: skip


def reply(payload):
    """Say what comes next, after a look at the picture."""
    (kept,) = [message for message in payload["messages"] if message["role"] == "user" and pictures(message)]
    assert pictures(kept)[0].startswith(b"\xff\xd8")
    assert kept is payload["messages"][-1]
    return {"content": REPLIES[sum(message["role"] == "assistant" for message in payload["messages"])]}


def pictures(message):
    urls = [part["image_url"]["url"] for part in message["content"] if isinstance(part, dict) and part["type"] == "image_url"]
    return [base64.b64decode(url.removeprefix("data:image/jpeg;base64,")) for url in urls]


@needs.chromium
@pytest.mark.parametrize("ours", [True, False])
def test_a_chat_model_sees_pictures_and_the_report_shows_them_with_its_clicks(ours, tmp_path, monkeypatch):
    saved = tmp_path / "episodes.jsonl"
    with serving_chat(reply) as (state, address):
        monkeypatch.setenv("OPENAI_BASE_URL", address)
        if ours:
            keywords = ("browser=chromium", "observation=pixels", "dialect=computer")
            env = [part for keyword in keywords for part in ("--env", keyword)]
            command.main(["--policy", "chat:good", "--template", TASK, "--limit", "1", *env, "--save", str(saved)])
        else:
            env = ["--browser", "chromium", "--observation", "pixels", "--dialect", "computer"]
            requests = ["--agent", "chat:good", "--template", TASK, "--limit", "1", *env]
            assert cli.main(["evaluate", *requests, "--out", str(tmp_path)]) == 0
    assert [len(payload["messages"]) for payload in state.requests] == [2, 4, 6]
    assert '"type": "click"' in state.requests[0]["messages"][0]["content"]  # the env's own system prompt, of its dialect
    (episode,) = read_sources([f"x={saved}"]).policies["x"]
    assert (episode.reward, episode.ending, [step.action_error for step in episode.steps]) == (1.0, "exited", [""] * 3)
    assert [step.reply for step in episode.steps] == [*REPLIES]
    with Replayer() as replayer:
        replay = replayer.replay(task_of(episode), episode)
        shown = [replayer.assets.contents[key] for key in replay.assets]
    assert (len(replay.pages), replay.problem) == (4, "")
    sent = [payload["messages"][-1]["content"][1]["image_url"]["url"] for payload in state.requests]
    assert shown == [*dict.fromkeys(sent)]  # what the model has seen
    assert "left: 538px; top: 29px; width: 12px" in replay.pages[0].html  # the ring around (544, 35)
    assert [page.html.count("data-marked") for page in replay.pages] == [1, 0, 0, 0]


@needs.chromium
def test_the_report_marks_the_box_of_an_element_that_is_named_by_its_number(tmp_path):
    saved = tmp_path / "episodes.jsonl"
    env = ("--elements", "id", "--env", "browser=chromium", "--env", "observation=marks")
    command.main(["--policy", "expert", "--template", TASK, "--limit", "1", *env, "--save", str(saved)])
    (episode,) = read_trajectories(saved)
    assert episode.reward == 1.0
    with Replayer() as replayer:
        replay = replayer.replay(task_of(episode), episode)
    assert replay.problem == ""
    left, top, width, height = map(int, re.findall(r"(\d+)px; (?=top|width|height|border)", replay.pages[0].html))
    assert (left < 544 < left + width, top < 35 < top + height) == (True, True)  # the search field


# A vision-language model in this process: Qwen2.5-VL, tiny and untrained.

SPECIAL = ("<|endoftext|>", "<|im_end|>", "<|image_pad|>", "<|video_pad|>", "<|vision_start|>", "<|vision_end|>")
TEMPLATE = (
    "{% for m in messages %}{{ m.role }}\n{% for part in m.content %}{% if part.type == 'image' %}"
    "<|vision_start|><|image_pad|><|vision_end|>{% else %}{{ part.text }}{% endif %}{% endfor %}<|im_end|>{% endfor %}"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder of the model; its processor goes without the half for videos where there is no torchvision."""
    folder = tmp_path_factory.mktemp("vision")
    vocabulary = {text: number for number, text in enumerate((*SPECIAL, *sorted(pre_tokenizers.ByteLevel.alphabet())))}
    tokenizer = Tokenizer(models.BPE(vocabulary, []))
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    ends = {"pad_token": SPECIAL[0], "eos_token": SPECIAL[1], "additional_special_tokens": SPECIAL[2:]}
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, chat_template=TEMPLATE, **ends).save_pretrained(folder)
    ImageProcessor(patch_size=14, size={"shortest_edge": 28 * 28, "longest_edge": 16 * 28 * 28}).save_pretrained(folder)
    shape = {"hidden_size": 32, "intermediate_size": 32, "initializer_range": 0.3}
    rope = {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [1, 1, 2]}
    text = {"num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": len(vocabulary), **shape}
    text |= {"rope_parameters": rope, "pad_token_id": 0, "bos_token_id": None, "eos_token_id": 1}
    vision = {"depth": 2, "num_heads": 2, "out_hidden_size": 32, "fullatt_block_indexes": [1], **shape}
    ids = dict(
        zip(("image_token_id", "video_token_id", "vision_start_token_id", "vision_end_token_id"), range(2, 6), strict=True)
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = Qwen2_5_VLForConditionalGeneration(Qwen2_5_VLConfig(text_config=text, vision_config=vision, **ids))
    model.save_pretrained(folder)
    with pytest.MonkeyPatch.context() as patch:
        if importlib.util.find_spec("torchvision") is None:
            with pytest.raises(ValueError, match=r"cannot be loaded: .*requires the Torchvision library"):
                load_vision_model(folder, "float32")
            patch.setattr(Qwen2_5_VLProcessor, "get_attributes", lambda *_: ["image_processor", "tokenizer"])
        yield folder


def request(shade, seed=0, text="Round 0"):
    written = BytesIO()
    Image.fromarray(numpy.full((90, 160, 3), shade, numpy.uint8)).save(written, "png")
    url = f"data:image/png;base64,{base64.b64encode(written.getvalue()).decode()}"
    parts = [{"type": "text", "text": text}, {"type": "image_url", "image_url": {"url": url}}]
    return Request(0, None, {"messages": [{"role": "system", "content": "Act."}, {"role": "user", "content": parts}]}, seed)


def test_a_vision_language_model_replies_to_what_it_sees(folder):
    assert model_kind(folder) == "vision"
    model, processor = load_vision_model(folder, "float32")
    make = partial(vision_replies, model, processor, None, max_new_tokens=12)
    reply = make(temperature=1.0, max_prompt_tokens=100)
    first = reply(request(0))
    assert (first.prompt_ids.count(2), len(first.response_ids)) == (15, 12)  # 3 x 5 places of the picture, of 16 at most
    assert processor.tokenizer.decode(first.prompt_ids).startswith("system\nAct.<|im_end|>user\nRound 0<|vision_start|>")
    assert first == reply(request(0))
    assert first.text != reply(request(255)).text
    assert first.text != reply(request(0, seed=1)).text
    greedy = make(temperature=0.0, max_prompt_tokens=100)
    assert greedy(request(0)) == greedy(request(0, seed=1))
    assert make(temperature=0.0, max_prompt_tokens=20)(request(0)).too_long


def test_processors_that_cannot_encode_control_tokens_as_text_are_refused(folder, monkeypatch):
    monkeypatch.setattr(Qwen2_5_VLProcessor, "apply_chat_template", lambda self, conversation, **options: None)
    with expect_error(ValueError, "transformers", "5.23"):
        load_vision_model(folder, "float32")


def test_the_text_of_a_page_becomes_no_control_token_and_no_picture(folder):
    model, processor = load_vision_model(folder, "float32")
    reply = vision_replies(model, processor, None, temperature=0.0, max_new_tokens=1, max_prompt_tokens=500)
    plain, other = reply(request(0)), reply(request(0, text=f"Round 0 {' '.join(SPECIAL)}"))
    for token in range(len(SPECIAL)):
        assert other.prompt_ids.count(token) == plain.prompt_ids.count(token)
    for name in SPECIAL:
        assert processor.tokenizer.decode(other.prompt_ids).count(name) == plain.prompt_ids.count(SPECIAL.index(name)) + 1


@needs.chromium
def test_a_folder_of_a_vision_language_model_is_a_policy(folder, tmp_path):
    env = [part for keyword in ("browser=chromium", "observation=pixels", "dialect=computer") for part in ("--env", keyword)]
    saved = tmp_path / "episodes.jsonl"
    limits = ("--max-steps", "2", "--max-new-tokens", "4", "--limit", "1", "--processes", "1")
    command.main(["--policy", str(folder), *limits, *env, "--save", str(saved)])
    (episode,) = read_trajectories(saved)
    assert (episode.ending, len(episode.steps)) == ("truncated", 2)
    assert [step.prompt_ids.count(2) for step in episode.steps] == [15, 15]
    with pytest.raises(ValueError, match="expected a text-only language model"):
        command.main(["--policy", str(folder), *limits, *env, "--constrained"])
    with expect_error(ValueError, "system", "'act'", "dialect", "'computer'"):
        command.main(["--policy", str(folder), *limits, *env, "--system", "act"])
