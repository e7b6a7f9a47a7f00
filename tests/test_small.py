from pathlib import Path

import pyarrow.parquet as pq
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoModelForCausalLM, AutoTokenizer

from agents.data.trajectories import Step, Trajectory
from agents.models import small
from agents.models.checkpoints import save_agent
from agents.training.credit import weight_steps
from agents.training.rollout_files import write_samples
from agents.training.settings import BCSettings
from tests.errors import expect_error
from tests.tiny import tiny_model


@pytest.fixture(scope="module")
def tokenizer():
    return tiny_model()[1]


def ids(tokenizer, text):
    return tokenizer(text, add_special_tokens=False)["input_ids"]


characters = st.characters(blacklist_categories=["Cs"], blacklist_characters="\x1f")
pieces = st.sampled_from(
    ["<a>", "</a>", 'do(action="Click", element="', '")', " ", "  ", "\n", "12", "Blue", "é", "$3.50", "-"]
)


@given(st.text(characters) | st.lists(pieces).map("".join))
def test_tokenization_round_trips(tokenizer, text):
    assert tokenizer.decode(ids(tokenizer, text)) == text


@pytest.mark.parametrize("name", ["Blue Canvas Backpack", "Zorbo 12 inch", "Order 000000170"])
def test_names_have_equal_tokens_in_any_context(tokenizer, name):
    alone = ids(tokenizer, name)
    for text in (f"Buy {name} now", f"<a>{name}</a>", f'do(action="Click", element="{name}")', f"{name}, twice", f"({name})"):
        found = ids(tokenizer, text)
        assert any(found[start : start + len(alone)] == alone for start in range(len(found))), text
    assert len(ids(tokenizer, 'do(action="Click", element="lamp")')) == 3


def test_the_auto_classes_load_what_was_saved(tmp_path, tokenizer):
    model, tokenizer = tiny_model()
    save_agent(tmp_path, model, tokenizer, {})
    loaded = AutoTokenizer.from_pretrained(tmp_path)
    chat = [{"role": "user", "content": "Open <a>lamp</a> 12"}, {"role": "assistant", "content": "go_backward()"}]
    options = {"add_generation_prompt": True, "tokenize": True, "return_dict": False}
    assert loaded.apply_chat_template(chat, **options) == tokenizer.apply_chat_template(chat, **options)
    again = AutoModelForCausalLM.from_pretrained(tmp_path)
    prompt = torch.arange(5, 20)[None]
    assert torch.equal(again(prompt).logits, model(prompt).logits)


def test_the_first_heads_look_back_and_practice_teaches_to_copy():
    model, _ = tiny_model()
    model.set_attn_implementation("eager")
    attentions = model(torch.arange(10, 60)[None], output_attentions=True).attentions[0][0]
    assert attentions[0].diagonal(-1).mean() > 0.8
    assert attentions[1].diagonal(-2).mean() > 0.8
    torch.manual_seed(0)
    tokenizer = tiny_model()[1]
    model = small.create_model(tokenizer, width=64, layers=2, heads=4)
    first = small.pretrain_copying(model, 1, first_id=5)
    assert small.pretrain_copying(model, 60, first_id=5, seed=1) < first / 3


def test_inserted_layers_change_nothing_until_they_are_trained(tokenizer):
    model = small.create_model(tokenizer, width=64, layers=3)
    deeper = small.insert_layers(model, 2)
    ids = torch.randint(5, 300, (2, 20))
    assert deeper.config.num_hidden_layers == 5
    assert torch.equal(model(ids).logits, deeper(ids).logits)
    deeper(ids).logits.square().mean().backward()
    inserted = deeper.base_model.layers[1:3]
    assert all(layer.self_attn.o_proj.weight.grad.abs().max() > 0 for layer in inserted)
    with expect_error(ValueError, "inserted_layers", 2, 0, "model="):
        BCSettings(model="small", out=Path("new"), inserted_layers=2)


def test_a_row_holds_a_step_and_its_credit(tmp_path):
    def step(prompt, *response):
        return Step("page", "reply", "", prompt, response, tuple(-0.1 * token for token in response))

    first = (1, 2)
    group = [
        Trajectory("t", "g", (step(first, 3, 4), step((1, 2, 5), 6)), 1.0, "exited", 7, 2),
        Trajectory("t", "g", (step(first, 8),), 0.0, "exited", 7, 3),
    ]
    rows, path = weight_steps([(group, [1.0, 1.0, -1.0])], "paper"), tmp_path / "samples" / "1.parquet"
    write_samples(path, rows)
    first, second, other = pq.read_table(path).to_pylist()
    assert first == {
        "prompt_ids": [1, 2], "response_ids": [3, 4], "logprobs": pytest.approx([-0.3, -0.4]), "advantage": 1.0,
        "token_weight": 1 / 8, "group_id": 7, "trajectory_id": "7/0", "step": 0, "is_last_step": False, "reward": 1.0,
        "policy_version": 2,
    }  # fmt: skip
    assert (second["step"], second["is_last_step"], second["trajectory_id"]) == (1, True, "7/0")
    assert [other[name] for name in ("advantage", "reward", "trajectory_id", "policy_version")] == [-1.0, 0.0, "7/1", 3]
    write_samples(path, [])
    assert pq.read_table(path).to_pylist() == []
    # Any library of data frames reads samples.
    write_samples(path, rows)
    frame = pytest.importorskip("pandas").read_parquet(path)
    assert frame["response_ids"].map(len).tolist() == [2, 1, 1]
    assert frame.groupby("trajectory_id")["reward"].first().to_dict() == {"7/0": 1.0, "7/1": 0.0}
