"""Episodes for verl, with stand-ins for its classes and a server that gives the expert's replies."""

import asyncio
import json
import sys
import threading
from dataclasses import dataclass, field
from types import ModuleType, SimpleNamespace

import pytest

from agents.data.demonstrations import demonstrate
from agents.data.prompts import PromptEncoder, system_prompt
from agents.integrations import verl
from agents.settings import EnvSettings
from tests.errors import expect_error
from tests.tiny import tiny_model
from webarena_gym import suite as task_suite
from webarena_gym.errors import ServerError

TASKS = task_suite.load("train")[:3]
ENV = {"elements": "label", "max_steps": 6}


AgentLoopMetrics = AgentLoopOutput = SimpleNamespace


@dataclass
class TokenOutput:
    token_ids: list
    log_probs: list | None
    stop_reason: str = "completed"
    extra_fields: dict = field(default_factory=lambda: {"min_global_steps": 4, "max_global_steps": 4})


class Server:
    """Replies as the expert does where it knows the prompt, and with an exit without an answer elsewhere."""

    def __init__(self, encoder, known):
        self.encoder, self.known, self.requests = encoder, known, []

    async def generate(self, request_id, *, prompt_ids, sampling_params):
        self.requests.append((request_id, prompt_ids, sampling_params))
        ids = self.known.get(tuple(prompt_ids), self.encoder.encode_reply('exit(message="")'))
        return TokenOutput(list(ids), [-0.5] * len(ids) if sampling_params["logprobs"] else None)


@pytest.fixture(scope="module")
def tokenizer():
    return tiny_model()[1]


@pytest.fixture(scope="module")
def encoder(tokenizer):
    return PromptEncoder(tokenizer, system_prompt("act", elements="label"))


@pytest.fixture(scope="module")
def known(encoder):
    """What the expert replies to each prompt, in tokens."""
    steps = demonstrate(TASKS, **EnvSettings(**ENV).env_arguments())
    prompts = encoder.encode_all([step.messages for step in steps])
    return {prompt: encoder.encode_reply(step.reply) for prompt, step in zip(prompts, steps, strict=True)}


@pytest.fixture(autouse=True)
def stand_in(monkeypatch):
    """The module of verl that the loop imports when it runs."""
    module = ModuleType("verl.experimental.agent_loop.agent_loop")
    module.AgentLoopMetrics, module.AgentLoopOutput = AgentLoopMetrics, AgentLoopOutput
    for name in ("verl", "verl.experimental", "verl.experimental.agent_loop"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, module.__name__, module)


def loop(server, tokenizer, prompt_length=100_000, **options):
    rollout = SimpleNamespace(prompt_length=prompt_length)
    config = SimpleNamespace(config=SimpleNamespace(actor_rollout_ref=SimpleNamespace(rollout=rollout)))
    given = {"env": ENV, "name": verl.LOOP, "processor": None, "tools": None, **options}
    return verl.WebAgentLoop(trainer_config=config, server_manager=server, tokenizer=tokenizer, **given)


def run(agent_loop, number=0, **sampling):
    row = {**verl.rows(TASKS)[number], "raw_prompt": [], "uid": "a"}
    row["extra_info"] = {**row["extra_info"], "seed": 0}
    return asyncio.run(agent_loop.run({"temperature": 1.0, "logprobs": True, **sampling}, **row))


def test_each_step_is_a_row_with_the_very_tokens_of_one_server(tokenizer, encoder, known):
    requests = set()
    for number in range(len(TASKS)):
        server = Server(encoder, known)
        outputs = run(loop(server, tokenizer), number, temperature=0.3)
        assert len(outputs) > 1
        requests.add(server.requests[0][0])
        assert all(
            request[::2] == (server.requests[0][0], {"temperature": 0.3, "logprobs": True}) for request in server.requests
        )
        assert [output.prompt_ids for output in outputs] == [prompt for _, prompt, _ in server.requests]
        for output in outputs:
            count = len(output.response_ids)
            assert tuple(output.response_ids) == known[tuple(output.prompt_ids)]
            assert (output.response_mask, output.response_logprobs) == ([1] * count, [-0.5] * count)
            assert (output.reward_score, output.num_turns) == (1.0, 2 * len(outputs))
            own = {"turn_scores": [], "tool_rewards": [], "reward_extra_info": {"steps": len(outputs)}}
            assert output.extra_fields == {"min_global_steps": 4, "max_global_steps": 4, **own}
            assert output.metrics.tool_calls > 0
    assert len(requests) == len(TASKS)


def test_policy_failures_score_zero_and_too_long_pages_end_the_episode(tokenizer, encoder, known):
    (output,) = run(loop(Server(encoder, {}), tokenizer), logprobs=False)
    assert (output.reward_score, output.response_logprobs) == (0.0, None)
    first, *_, longest = sorted(map(len, (prompt for prompt in known)))
    assert run(loop(Server(encoder, known), tokenizer, prompt_length=first - 1)) == []
    server = Server(encoder, known)
    ends = [run(loop(server, tokenizer, prompt_length=longest - 1), number) for number in range(len(TASKS))]
    cut = [outputs for outputs in ends if not outputs or outputs[0].reward_score == 0.0]
    assert cut
    assert all(len(prompt) < longest for _, prompt, _ in server.requests)


def test_an_aborted_request_a_broken_env_and_an_unknown_setting_are_errors_not_rewards(tokenizer, encoder, monkeypatch):
    class Aborting(Server):
        output = TokenOutput([], None, "aborted")

        async def generate(self, request_id, **_):
            return self.output

    class Broken:
        def reset(self, *, seed):
            return "", {"messages": [{"role": "user", "content": "a page"}]}

        def step(self, _):
            return "", float("nan"), False, True, {"failure": "the browser is gone"}

        def close(self):
            closed.append(threading.get_ident())

    closed = []
    with expect_error(ServerError, "step 0", "'aborted'"):
        run(loop(Aborting(encoder, {}), tokenizer))
    for Aborting.output in (TokenOutput([5], None, "aborted"), TokenOutput([], None, "completed")):
        with expect_error(ServerError, "step 0"):
            run(loop(Aborting(encoder, {}), tokenizer))
    with pytest.raises(TypeError, match="elments"):
        loop(Server(encoder, {}), tokenizer, env={"elments": "label"})
    monkeypatch.setattr(verl.gymnasium, "make", lambda *_, **__: Broken())
    with pytest.raises(ServerError, match="the browser is gone"):
        run(loop(Server(encoder, {}), tokenizer))
    assert len(closed) == 1
    assert closed[0] != threading.get_ident()


def test_episodes_run_at_the_same_time(tokenizer, encoder, known):
    class Waiting(Server):
        """Answers nobody before all have asked."""

        def __init__(self, *arguments):
            super().__init__(*arguments)
            self.everybody = asyncio.Barrier(4)

        async def generate(self, request_id, **options):
            if request_id not in {request for request, _, _ in self.requests}:
                await asyncio.wait_for(self.everybody.wait(), 60)
            return await super().generate(request_id, **options)

    async def play():
        server = Waiting(encoder, known)
        row = verl.rows(TASKS[:1])[0]
        return await asyncio.gather(*(loop(server, tokenizer).run({"logprobs": True}, **row) for _ in range(4)))

    results = asyncio.run(play())
    assert [outputs[-1].reward_score for outputs in results] == [1.0] * 4
    assert len({tuple(outputs[0].prompt_ids) for outputs in results}) == 1


def test_rows_name_tasks_that_the_loop_finds(tmp_path):
    verl.main(["--out", str(tmp_path / "train.jsonl"), "--seed", "5"])
    lines = [json.loads(line) for line in (tmp_path / "train.jsonl").read_text(encoding="utf-8").splitlines()]
    tasks = task_suite.load("train")
    assert len(lines) == len(tasks)
    assert lines[2]["extra_info"] == {"index": 2, "task": tasks[2].task_id, "seed": 7}
    assert lines[2]["prompt"] == [{"role": "user", "content": tasks[2].intent}]
    assert {line["agent_name"] for line in lines} == {verl.LOOP}
    assert task_suite.find(lines[2]["extra_info"]["task"]).intent == tasks[2].intent
