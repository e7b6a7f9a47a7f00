from agents.demonstrations import demonstrate, draw_tasks
from agents.prompts import PromptEncoder
from agents.settings import EnvSettings
from agents.train_bc import encode, updates_of
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
