"""The adapter to TRL as far as it needs no TRL, and the rows of datasets."""

from contextlib import closing
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from gymnasium.error import ResetNeeded

from tests.errors import expect_error
from webarena_gym.actions import DIALECTS
from webarena_gym.clients.chat import Completion, Usage
from webarena_gym.env import WebArenaLite
from webarena_gym.errors import ApplicationError, BrowserError, EvaluationError, RefusedError, TaskError, WorldError
from webarena_gym.evaluation.agents import ChatAgent
from webarena_gym.integrations import trl
from webarena_gym.integrations.session import Session, dataset_rows
from webarena_gym.suite import load

TASK = next(task for task in load("test") if task.template == "shopping.wish_list_add")
WEBRL = DIALECTS["webrl"].naming_by("label")


@pytest.mark.parametrize("rows", [dataset_rows, trl.dataset_rows])
def test_all_rows_of_a_dataset_have_the_same_keys_and_types(rows):
    # datasets drops keys that the first row does not have
    keys = {tuple((key, type(value)) for key, value in row.items()) for split in ("train", "test") for row in rows(split)}
    assert len(keys) == 1


@pytest.mark.parametrize("filters", [{"sites": "map"}, {"templates": ["map.place_phone"]}])
def test_a_list_of_tasks_is_not_filtered(filters):
    for rows in (dataset_rows, trl.dataset_rows):
        with expect_error(ValueError, *(f"{key}={value!r}" for key, value in filters.items())):
            rows([TASK], **filters)


@pytest.mark.parametrize("task", [TASK, next(task for task in load("test") if task.answer_form)], ids=["no answer", "answer"])
@pytest.mark.parametrize(
    "keywords", [{}, {"elements": "label", "window": 2000}, {"observation": "axtree"}, {"dialect": "webarena"}], ids=str
)
def test_a_model_sees_in_evaluation_with_tools_what_it_saw_in_training_with_trl(keywords, task):
    get_json_schema = pytest.importorskip("transformers.utils").get_json_schema
    trained = trl.environment({"tasks": [task], **keywords})()
    (row,) = trl.dataset_rows([task])
    system, user = row["prompt"]
    chat = [system, {**user, "content": user["content"] + trained.reset(**row)}]
    names = [name for name in dir(trained) if not name.startswith("_") and name not in ("reset", "get_reward")]
    model = Mock()
    model.complete.return_value = Completion("", (), Usage())
    with closing(WebArenaLite(tasks=[task], **keywords)) as env:
        _, info = env.reset(options={"task": task})
        agent = ChatAgent(model, {}, with_tools=True)
        agent.start_episode(SimpleNamespace(derive_seed=lambda _: 0), env)
        agent.reply("", info)
    assert task.answer_form in chat[1]["content"]
    assert model.complete.call_args.args == (chat,)
    assert model.complete.call_args.kwargs["tools"] == [get_json_schema(getattr(trained, name)) for name in names]


FAILURES = (
    ApplicationError("it has died"), BrowserError("it was killed"), EvaluationError("no judge"), RefusedError("no model", 503, {}),
    ResetNeeded("interrupted"), WorldError("no space"),
)  # fmt: skip


def failing(monkeypatch, method, error, times=10**6):
    """Make a method of the env raise an error, so many times."""
    left, real = [error] * times, getattr(WebArenaLite, method)

    def call(self, *arguments, **keywords):
        if left:
            raise left.pop()
        return real(self, *arguments, **keywords)

    monkeypatch.setattr(WebArenaLite, method, call)


@pytest.mark.parametrize("error", FAILURES, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("method", ["step", "submit", "reset"])
def test_trl_gets_no_reward_for_a_lost_episode_and_the_next_one_is_judged(monkeypatch, caplog, method, error):
    made = trl.environment({"tasks": [TASK], "elements": "label"})()
    with monkeypatch.context() as patch:
        failing(patch, method, error, times=1)
        page = made.reset(task=TASK.task_id)
        assert (str(error) in page) == (method == "reset")
        if method == "step":
            with pytest.raises(type(error)):  # TRL passes what a tool raises to the model
                made.scroll_down()
        assert made.get_reward() is None
    assert str(error) in caplog.text
    assert TASK.intent in made.reset(task=TASK.task_id)
    for step in TASK.solution:
        if step.action.kind.value != "Exit":
            made._session.step(WEBRL.format(step.action))
    assert made.get_reward() == 1.0


def test_trl_envs_raise_for_unknown_tasks_and_repeated_failures(monkeypatch):
    made = trl.environment({"tasks": [TASK]})()
    with expect_error(TaskError, "nothing/1/0"):
        made.reset(task="nothing/1/0")
    failing(monkeypatch, "reset", BrowserError("no Chromium"))
    made = trl.environment({"tasks": [TASK]})()
    made.reset(task=TASK.task_id)
    with expect_error(BrowserError, "no Chromium"):
        made.reset(task=TASK.task_id)


class Scripted:
    """Stands in for a trainer whose model says one reply after the other, the same in all episodes."""

    def __init__(self, replies, **chat_template_kwargs):
        self._replies, self.chat_template_kwargs, self.rendered = iter(replies), chat_template_kwargs, []
        self.processing_class = SimpleNamespace(
            apply_chat_template=self._render, decode=lambda ids, **_: "".join(map(chr, ids))
        )

    def _render(self, messages, **options):
        self.rendered.append(options)
        return [len(messages)]

    def _generate_single_turn(self, requests, *_):
        reply = next(self._replies)
        return [[ord(letter) for letter in reply] for _ in requests], None


def test_rollouts_for_trl_go_on_where_an_episode_is_lost(monkeypatch):
    replies = [WEBRL.format(step.action) for step in TASK.solution]
    rollouts = trl.Rollouts({"tasks": [TASK], "elements": "label"})
    prompts = [TASK.task_id] * 5
    assert rollouts(prompts, Scripted(replies))["env_reward"] == [1.0] * 5
    begin, say = Session.reset, Session.step
    sessions = rollouts._sessions

    def fail_to_begin(self, *arguments):
        if self is sessions[3]:
            raise BrowserError("it does not start")
        return begin(self, *arguments)

    def fail_to_act(self, reply):
        if self is sessions[1] and self.info["step"] == 1:
            raise BrowserError("it was killed")
        return say(self, reply)

    monkeypatch.setattr(Session, "reset", fail_to_begin)
    monkeypatch.setattr(Session, "step", fail_to_act)
    played = rollouts(prompts, Scripted(replies))
    assert played["env_reward"] == rollouts.reward(**played) == [1.0, None, 1.0, None, 1.0]
    texts = ["".join(map(chr, ids)) for ids in played["completion_ids"]]
    assert set(texts) <= set(replies)
    assert texts[1] in replies[:2]
    monkeypatch.setattr(Session, "reset", Mock(side_effect=BrowserError("it does not start")))
    with expect_error(BrowserError, "it does not start"):
        rollouts(prompts, Scripted(replies))
    rollouts.close()


@pytest.mark.parametrize("variables", [{}, {"enable_thinking": False}])
def test_rollouts_for_trl_use_the_trainer_s_variables_of_the_chat_template(variables):
    trainer = Scripted([WEBRL.format(step.action) for step in TASK.solution], **variables)
    rollouts = trl.Rollouts({"tasks": [TASK], "elements": "label"})
    assert rollouts([TASK.task_id], trainer)["env_reward"] == [1.0]
    rollouts.close()
    fixed = {"add_generation_prompt", "tokenize", "sanitize_control_tokens", "return_dict"}
    assert [{name: value for name, value in options.items() if name not in fixed} for options in trainer.rendered] == [
        variables for _ in TASK.solution
    ]


def test_rows_for_trl_name_their_environment():
    rows = trl.dataset_rows("test", "map", environment="maps")
    assert {row.pop("environment") for row in rows} == {"maps"}
    assert rows == dataset_rows("test", "map")
    assert {row["environment"] for row in trl.dataset_rows("hard")} == {"webarena_gym"}
    assert [trl.environment().__name__, trl.environment(name="Maps").__name__] == ["WebArenaGym", "Maps"]
