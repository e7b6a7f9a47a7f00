from random import Random

from agents.demonstrations import Demonstration, demonstrate, draw_tasks, thin
from agents.prompts import PromptEncoder
from agents.settings import EnvSettings
from agents.train_bc import BCSettings, encode, kept_lines, updates_of
from tests import tiny


def test_the_expert_s_steps_become_samples():
    tasks = draw_tasks([1001], 1)[:6]
    shown = demonstrate(tasks, **EnvSettings().env_arguments())
    assert {item.task_id for item in shown} == {task.task_id for task in tasks}
    assert sum(len(task.solution) for task in tasks) <= len(shown)
    assert all(item.messages[0]["role"] == "user" for item in shown)
    assert shown[0].messages[0]["content"].startswith(f"Task Instruction: {tasks[0].intent}")
    encoder = PromptEncoder(tiny.tiny_model()[1])
    for sample, item in zip(encode(encoder, shown), shown, strict=True):
        assert encoder.decode(sample.response_ids) == item.reply
        assert sample.response_ids[-1] in encoder.stop_ids


def test_an_epoch_holds_every_sample_once_within_the_budget():
    encoder = PromptEncoder(tiny.tiny_model()[1])
    samples = encode(encoder, tiny.demonstrations(50))
    plan = updates_of(samples, 300, seed=4)
    seen: list[int] = []
    while len(seen) < len(samples):
        update = next(plan)
        longest = max(len(samples[index].prompt_ids) + len(samples[index].response_ids) for index in update)
        assert longest * len(update) <= 300
        seen += update
    assert sorted(seen) == list(range(len(samples)))
    again = updates_of(samples, 300, seed=4)
    assert next(again) == next(updates_of(samples, 300, seed=4))


PAGE = "Task Instruction: Buy a lamp\n\nRound 0\n\nURL: http://shop.test/\n<a>Lamp</a>\n<a>Chair</a>\n<button>Add to Cart</button>\n$5.00"


def test_a_thinned_page_keeps_what_the_reply_names():
    def thinned(reply, keep=0.0):
        shown = Demonstration("t", ({"role": "user", "content": PAGE},), reply)
        return thin(shown, keep, Random(0)).messages[-1]["content"].partition("http://shop.test/")[2].split("\n")[1:]

    assert thinned('do(action="Click", element="Chair")') == ["<a>Chair</a>"]
    assert thinned('do(action="Click", element="Add to Cart [2]")') == ["<button>Add to Cart</button>"]
    assert thinned('exit(message="$5.00")') == ["$5.00"]
    assert thinned('exit(message="")') == []
    assert len(thinned('exit(message="")', keep=1.0)) == 4


def test_pages_grow_to_whole_ones(tmp_path):
    settings = BCSettings(out=tmp_path, curriculum=0.5)
    shares = [kept_lines(settings, progress) for progress in (0.0, 0.25, 0.5, 0.9)]
    assert shares == [0.1, 0.55, 1.0, 1.0]
    assert kept_lines(BCSettings(out=tmp_path, curriculum=0.0), 0.0) == 1.0
