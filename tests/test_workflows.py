"""Workflows: induced from successes without their names, found for similar goals, and given to language and chat models and pointer networks."""

from dataclasses import replace

import numpy
import pytest

from agents import workflows as command
from agents.data import workflows
from agents.data.prompts import system_prompt, with_system_prompt, with_workflows
from agents.data.trajectories import Step, Trajectory, write_trajectories
from agents.evaluation.evaluate import create_policy, evaluate, evaluate_policy
from agents.evaluation.settings import EvaluationSettings
from agents.rollouts.chat import ChatPolicy
from agents.rollouts.policies import Request
from agents.settings import EnvSettings
from tests import tiny
from tests.chat_server import goal_of, serving_chat
from tests.errors import expect_error
from tests.pointing import make_policy
from webarena_gym import suite as task_suite
from webarena_gym.actions import Action, Kind

PAGE = 'URL: http://shop.test/\n<a id="1">Blue Mug</a> <a id="2">Red Tent</a> <button id="3">Add to Wish List</button>'


def episode(name="Blue Mug", reward=1.0, element="1", **changes):
    first, none, last = (Step(PAGE, f'do(action="Click", element="{each}")') for each in (element, "9", "3"))
    steps = (first, replace(none, action_error="there is no such element"), last, Step(PAGE, 'exit(message="")'))
    return Trajectory("t/1", f"Add the {name} to my wish list.", steps, reward, "exited", **changes)


def test_a_workflow_has_no_names_and_no_step_that_failed_and_is_remembered_once(tmp_path):
    clicks = (workflows.WorkflowStep("Click", label) for label in (workflows.NAME, "Add to Wish List"))
    done = (*clicks, workflows.WorkflowStep("Exit"))
    assert workflows.induce_workflow(episode()).deeds == done
    assert workflows.induce_workflow(episode()) == workflows.induce_workflow(episode("Red Tent", element="2"))
    assert workflows.induce_workflow(episode()).goal == f"Add the {workflows.NAME} to my wish list."
    lines = [f'1. Click "{workflows.NAME}"', '2. Click "Add to Wish List"', "3. Exit"]
    assert str(workflows.induce_workflow(episode())).splitlines()[1:] == lines
    assert workflows.induce_workflow(replace(episode(), steps=(Step(PAGE, "nonsense"),))) is None
    memory = workflows.WorkflowMemory()
    memory.add([episode(), episode("Red Tent", element="2"), episode(reward=0.0, element="3"), episode(element="3")])
    assert [len(each.deeds) for each in memory.workflows] == [3, 3]
    memory.save(tmp_path / "memory.json")
    assert workflows.load_workflows(tmp_path / "memory.json") == memory
    (tmp_path / "memory.json").write_text('{"a": 1}', encoding="utf-8")
    with expect_error(ValueError, tmp_path / "memory.json"):
        workflows.load_workflows(tmp_path / "memory.json")


def test_found_workflows_match_the_site_and_similar_goals():
    memory = workflows.WorkflowMemory()
    memory.add([episode(), replace(episode(), goal="Show me my latest order.")])
    assert memory.find("Add the Drokidru Lamp, 12 inch to my wish list.", PAGE)[0].goal.startswith("Add the")
    assert memory.find("Show me my first order.", PAGE, max_count=3)[0].goal.startswith("Show me")
    assert not memory.find("Add the Lamp to my wish list.", PAGE.replace("shop.test", "forum.test"))
    assert not memory.find("Which road is the longest?", PAGE)


@pytest.mark.parametrize("seed", range(5))
def test_names_of_any_goal_of_the_suite_leave_the_words_around_them(seed):
    task = task_suite.load("validation")[seed * 30]
    other = next(each for each in task_suite.load("validation", 1101) if each.template == task.template)
    for each in (task, other):
        names = workflows.names_of(each.intent)
        plain = workflows.mask_names(each.intent, names)
        assert workflows.mask_names(plain.replace(workflows.NAME, ""), names) == plain.replace(workflows.NAME, "")
        assert len(plain.split()) > 2


def test_elements_are_known_by_their_labels():
    labels = {"1": "Blue Mug", "3": "Add to Wish List", "Blue Mug": "Blue Mug", "Save [2]": "Save", None: ""}
    assert {element: workflows.label_of(PAGE, element) for element in labels} == labels


def test_a_workflow_is_followed_in_its_order_and_other_deeds_do_not_move_it():
    workflow = workflows.induce_workflow(episode())
    names = workflows.names_of("Add the Red Tent to my wish list.")
    first = workflows.workflow_step(Action(Kind.CLICK, "2"), "Red Tent", names)
    assert workflows.next_step(workflow, []) == workflow.deeds[0]
    assert workflows.next_step(workflow, [first, workflows.WorkflowStep("Go Backward")]) == workflow.deeds[1]
    assert workflows.next_step(workflow, [workflow.deeds[1]]) == workflow.deeds[0]
    assert workflows.next_step(workflow, [first, *workflow.deeds[1:]]) is None
    assert workflows.is_same_step(first, workflow.deeds[0])


@pytest.mark.parametrize(("one", "other", "expected"), [
    (("Exit",), ("Exit", "", "<text>"), False),
    (("Exit", "", "Yes"), ("Exit", "", "<text>"), True),
    (("Exit", "", "N/A"), ("Exit", "", "<text>"), False),
    (("Select Dropdown Option", "Sort By", "Price"), ("Select Dropdown Option", "Sort By", "Name"), False),
    (("Search", "Search", workflows.NAME), ("Search", "Search", "<text>"), True),
])  # fmt: skip
def test_deeds_are_the_same_where_they_do_the_same_for_other_names(one, other, expected):
    one, other = workflows.WorkflowStep(*one), workflows.WorkflowStep(*other)
    assert workflows.is_same_step(one, other) is workflows.is_same_step(other, one) is expected


def reply_of(policy, goal, page, seed=0):
    policy.ask([Request(0, None, {"goal": goal, "page": page, "step": 0, "action_error": ""}, seed=seed)])
    return policy.replies()[0][1]


def test_a_pointing_policy_prefers_the_next_deed_with_exact_probabilities():
    memory = workflows.WorkflowMemory()
    memory.add([episode("Red Tent", element="2")])
    goal, action = "Add the Blue Mug to my wish list.", 'do(action="Click", element="1")'
    drawn = {}
    for name, own in (("with", memory), ("without", None)):
        policy = make_policy(memory=own)
        replies = [reply_of(policy, goal, PAGE, seed) for seed in range(60)]
        drawn[name] = numpy.mean([reply.text == action for reply in replies])
        of_action = {reply.logprobs[0] for reply in replies if reply.text == action}
        assert len(of_action) <= 1
        if of_action:
            assert drawn[name] == pytest.approx(numpy.exp(of_action.pop()), abs=0.25)
    assert drawn["with"] > drawn["without"] + 0.3
    memory = workflows.WorkflowMemory()  # of which none fits
    memory.add([replace(episode(), goal="Show me my latest order.")])
    assert reply_of(make_policy(memory=memory), goal, PAGE) == reply_of(make_policy(), goal, PAGE)


def obedient(payload):
    """Say the deeds of the first workflow that the system message holds, with names from the goal; leave without one."""
    system = "".join(message["content"] for message in payload["messages"] if message["role"] == "system")
    lines = system.partition("To do: ")[2].partition("\n\n")[0].splitlines()[1:]
    turn = sum(message["role"] == "assistant" for message in payload["messages"])
    if turn >= len(lines) or "Exit" in lines[turn]:
        return {"content": 'exit(message="")'}
    name = goal_of(payload).partition(" ")[2].removesuffix(".")
    return {
        "content": f'do(action="Click", element="{lines[turn].partition(chr(34))[2].rstrip(chr(34)).replace(workflows.NAME, name)}")'
    }


def test_a_chat_model_is_given_the_workflows_of_the_site():
    memory = workflows.WorkflowMemory()
    memory.add([episode(), replace(episode(), goal="Show me my latest order.")])
    with serving_chat(obedient) as (server, address):
        policy = ChatPolicy("good", address, system="Be brief.", memory=memory)
        page = "URL: http://shop.test/\nnothing"
        for step in (0, 1):
            info = {"goal": "Add the Red Tent to my wish list.", "page": page, "step": step}
            policy.ask([Request(0, None, {**info, "messages": [{"role": "user", "content": page}]})])
            policy.replies()
            page = page.replace("shop.test", "forum.test")
        policy.close()
    systems = [request["messages"][0]["content"] for request in server.requests]
    assert systems[0] == systems[1], "an episode keeps what it began with"
    assert systems[0].startswith("Be brief.\n\n")
    assert str(memory.workflows[0]) in systems[0]
    assert str(memory.workflows[1]) not in systems[0]


def test_a_language_model_is_given_the_workflows_of_the_site(tmp_path, monkeypatch):
    memory = workflows.WorkflowMemory()
    memory.add([episode(), replace(episode(), goal="Show me my latest order.")])
    memory.save(tmp_path / "memory.json")
    settings = EvaluationSettings(
        policy=str(tiny.save_clone(tmp_path / "model")), system="act", memory=tmp_path / "memory.json"
    )
    policy = create_policy(settings)
    prompts = []
    monkeypatch.setattr(policy.engine, "submit", lambda _slot, prompt_ids, *_: prompts.append(prompt_ids))
    info = {"goal": "Add the Red Tent to my wish list.", "page": PAGE, "messages": [{"role": "user", "content": PAGE}]}
    policy.ask([Request(0, None, {**info, "step": step}) for step in (0, 1)])
    chat = with_workflows(
        with_system_prompt(info["messages"], system_prompt("act", **settings.env_arguments())), str(memory.workflows[0])
    )
    assert prompts == policy.encoder.encode_all([chat] * 2)
    assert str(memory.workflows[0]) in chat[0]["content"]


def test_a_chat_model_solves_a_task_of_the_suite_by_what_solved_another(tmp_path):
    old, new = (task_suite.draw(["shopping.newsletter_switch"], world_seed=world, count=1)[0] for world in (11, 12))
    own = EnvSettings(max_steps=8)
    expert = evaluate(create_policy(EvaluationSettings(policy="expert")), [old], own, quiet=True)
    write_trajectories(tmp_path / "played.jsonl", expert.trajectories)
    command.main(["--episodes", str(tmp_path / "played.jsonl"), "--out", str(tmp_path / "memory.json")])
    with serving_chat(obedient) as (_, address):
        memory = workflows.load_workflows(tmp_path / "memory.json")
        rewards = []
        for remembered in (None, memory):
            policy = ChatPolicy("good", address, memory=remembered)
            rewards.append(evaluate(policy, [new], own, quiet=True).total.success)
            policy.close()
    assert rewards == [0.0, 1.0]


def test_a_memory_is_not_for_scripted_policies(tmp_path):
    workflows.WorkflowMemory().save(tmp_path / "memory.json")
    with expect_error(ValueError, "'expert'"):
        evaluate_policy(EvaluationSettings(policy="expert", memory=tmp_path / "memory.json"), task_suite.load("validation")[:1])
