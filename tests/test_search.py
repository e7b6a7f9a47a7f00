import json
from functools import partial
from types import SimpleNamespace

import gymnasium
import pytest
import torch

from agents import search as command
from agents.data.demonstrations import draw_tasks
from agents.data.prompts import PromptEncoder
from agents.data.trajectories import Step
from agents.evaluation import search as searching
from agents.models.checkpoints import CheckpointError, save_checkpoint
from agents.models.critics import Critic, LanguageValueNetwork
from agents.rollouts.branching import SearchState, search
from agents.rollouts.policies import ExpertReplies, Reply, Request, ScriptedPolicy
from tests import tiny
from tests.errors import expect_error
from tests.odd_policies import Same
from webarena_gym.actions.replies import quote_text
from webarena_gym.errors import BrowserError

LETTERS = "abc"
LENGTH = 3
MAX_STEPS = LENGTH + 1
METHODS = ["greedy", "best_of_n", "tree", "mcts"]


def leave(answer=""):
    return f"exit(message={quote_text(answer)})"


class Maze(tiny.TinyShop):
    """Letters are appended for good; whoever leaves with the goal's letters succeeds."""

    def __init__(self, upside_down=False):
        super().__init__(max_steps=MAX_STEPS)
        self.upside_down, self.taken = upside_down, 0

    def reset(self, *, seed=None, options=None):
        self.task, self.count, self.path = options["task"], 0, ""
        self.shown = [self.path]
        return "", self._info()

    def step(self, action):
        self.taken += 1
        self.count += 1
        if action == "break":
            raise BrowserError("the browser is gone")
        over = action.startswith("exit")
        self.path += "" if over else action
        self.shown = [self.path]
        info = self._info()
        success = (self.path == self.task.target) != self.upside_down
        if over or self.count == self.max_steps:
            info |= {"success": success, "verdicts": [{"check": "state", "passed": success, "reason": ""}]}
        return "", float(success), over, not over and self.count == self.max_steps, info

    def snapshot(self):
        return self.task, self.count, self.path

    def restore(self, snapshot):
        self.task, self.count, self.path = snapshot
        self.shown = [self.path]
        return "", self._info()


TASKS = [tiny.TinyTask(f"maze/{target}", f"Reach {target}", target) for target in ("cab", "bca", "bbb", "ccc")]


def wander(request):
    """A letter as the seed says, and out after the third; a greedy agent would always take the first."""
    return leave() if request.info["step"] == LENGTH else LETTERS[request.seed % len(LETTERS)]


def try_all(request):
    """Another letter for each reply that is asked for before a page."""
    return leave() if request.info["step"] == LENGTH else LETTERS[request.slot % len(LETTERS)]


def first(request):
    return leave() if request.info["step"] == LENGTH else LETTERS[0]


def path_of(state):
    return "".join(step.reply for step in state.steps if len(step.reply) == 1)


def prefix_value(target):
    """Knows the way, which no shipped value does."""

    def value(states):
        return [
            sum(1.0 if mine == right else -9.0 for mine, right in zip(path_of(state), target, strict=False)) for state in states
        ]

    return value


def hunt(task, *, choose=wander, method=None, budget=40, seed=0, env=None, value=None):
    method = method or make("tree", task, budget, value)
    return search([env or Maze()], ScriptedPolicy(choose), [task], method, seed=seed)[0]


def make(name, task, budget=40, value=None):
    value = value or prefix_value(task.target)
    if name in ("tree", "mcts"):
        search = searching.tree_search if name == "tree" else partial(searching.monte_carlo, outcome=value)
        return partial(search, value=value, branching=4, budget=budget, reserve=MAX_STEPS)
    return partial(searching.best_of_n, choose=searching.by_value(value), budget=budget, n=1 if name == "greedy" else None)


def run_by_hand(tree, grow):
    """Drive a search without an env; `grow` makes the children's endings. Returns the end and the states expanded."""
    expanded, count, expected = [], 1, next(tree)
    while True:
        expanded.append(expected.state.number)
        children = []
        for index in range(min(expected.replies, expected.max_children)):
            steps = (*expected.state.steps, Step(str(count), str(index)))
            children.append(SearchState(count, expected.state, (), str(count), steps, grow(steps)))
            count += 1
        try:
            expected = tree.send(children)
        except StopIteration as stop:
            return stop.value, expanded


def end(number, reply='exit(message="")', page="page", ending="exited", logprobs=()):
    step = Step("before", reply, logprobs=logprobs)
    return SearchState(number, None, (), page, (step,), ending)


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.target)
def test_a_tree_finds_what_the_first_replies_miss(task):
    greedy = hunt(task, choose=first, method=make("greedy", task))
    tree = hunt(task, choose=try_all)
    assert (greedy.trajectory.reward, greedy.trajectory.ending) == (0.0, "exited")
    assert (tree.trajectory.reward, tree.trajectory.ending) == (1.0, "exited")
    assert [step.reply for step in tree.trajectory.steps] == [*task.target, leave()]
    assert [step.page for step in tree.trajectory.steps] == [f"<a>{task.target[:count]}</a>" for count in range(LENGTH + 1)]


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("value", [None, searching.confidence])
def test_rewards_turned_upside_down_change_no_choice(name, value):
    for task in TASKS:
        found, other = (
            hunt(task, method=make(name, task, value=value), env=Maze(upside_down)) for upside_down in (False, True)
        )
        assert found.trajectory.steps == other.trajectory.steps
        assert found.trajectory.reward == 1 - other.trajectory.reward
        assert (found.env_steps, found.episodes) == (other.env_steps, other.episodes)


@pytest.mark.parametrize("name", METHODS)
def test_a_value_is_shown_no_judgement(name):
    shown = []

    def spy(states):
        shown.extend(states)
        return [0.0] * len(states)

    found = hunt(TASKS[0], method=make(name, TASKS[0], value=spy))
    assert all(state.reward is None for state in found.states)
    assert found.trajectory.verdicts
    assert any(state.ending == "exited" for state in shown)
    assert not [state for state in shown if "passed" in repr(state) or "success" in repr(state)]


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("budget", [1, 3, 4, 5, 9, 23])
def test_no_step_is_taken_beyond_the_budget_and_all_are_counted(name, budget):
    env = Maze()
    found = hunt(TASKS[0], method=make(name, TASKS[0], budget), env=env)
    assert env.taken == found.env_steps <= budget
    # A greedy agent plays one episode, and a tree may have no state left to go on from.
    assert name != "best_of_n" or found.env_steps == budget
    assert found.trajectory.ending == ("exited" if budget >= MAX_STEPS else "truncated")
    if budget < MAX_STEPS:
        assert (found.trajectory.reward, found.episodes) == (0.0, 0)


@pytest.mark.parametrize("name", METHODS)
def test_equal_seeds_find_the_same_on_any_number_of_envs(name):
    def many(num_envs, seed):
        method = make(name, TASKS[0], 13, searching.confidence)
        found = search([Maze() for _ in range(num_envs)], ScriptedPolicy(wander), TASKS, method, seed=seed)
        return [item._replace(states=tuple(state.steps for state in item.states)) for item in found]

    assert many(1, 5) == many(3, 5) == many(9, 5)
    assert many(1, 5) != many(1, 6)
    assert [found.trajectory.task_id for found in many(3, 5)] == [task.task_id for task in TASKS]


def test_the_best_episode_by_reward_is_reported_but_not_chosen():
    task = TASKS[0]

    def blind(states):
        return [-float(path_of(state) == task.target) for state in states]

    found = hunt(task, method=make("best_of_n", task, 800, blind), budget=800)
    assert (found.trajectory.reward, found.oracle.reward, found.episodes) == (0.0, 1.0, 200)
    assert path_of(found.oracle) == task.target
    found = hunt(TASKS[0], method=partial(searching.best_of_n, choose=searching.majority, budget=40, n=3))
    assert (found.episodes, found.env_steps) == (3, 3 * MAX_STEPS)


def test_the_budget_reserve_lets_an_episode_end():
    def broad(states):
        return [-float(len(state.steps)) for state in states]

    def reach(reserve):
        method = partial(searching.tree_search, value=broad, branching=4, budget=12, reserve=reserve)
        return hunt(TASKS[0], method=method).trajectory

    assert reach(0).ending == "truncated"
    assert len(reach(0).steps) < MAX_STEPS
    assert reach(MAX_STEPS).ending == "exited"


@pytest.mark.parametrize(("values", "budget", "order", "best"), [
    ({}, 10, [0, 1, 3, 4, 2], 5),  # of equal values the deeper state goes first, and then the earlier
    ({1: 1.0, 2: 3.0, 3: 2.0, 4: 0.0, 5: 0.5, 6: 4.0}, 6, [0, 2, 3], 6),
])  # fmt: skip
def test_the_best_state_is_expanded_wherever_it_is(values, budget, order, best):
    def value(states):
        return [values.get(state.number, 0.0) for state in states]

    tree = searching.tree_search(SearchState(0, None, (), "", ()), value=value, branching=2, budget=budget, reserve=0)
    chosen, expanded = run_by_hand(tree, lambda steps: "exited" if len(steps) == 3 else None)
    assert (expanded, chosen.number) == (order, best)


def test_replies_of_one_action_are_followed_once():
    thinking = ScriptedPolicy(lambda request: f"<think>{request.seed}</think><answer>{first(request)}</answer>")
    env = Maze()
    method = partial(searching.tree_search, value=searching.confidence, branching=5, budget=60, reserve=MAX_STEPS)
    (found,) = search([env], thinking, [TASKS[0]], method)
    assert env.taken == found.env_steps == MAX_STEPS


@pytest.mark.parametrize("name", METHODS)
def test_failed_episodes_are_chosen_last(name):
    method = make(name, TASKS[0], 12)
    broken = hunt(TASKS[0], choose=lambda _: "break", method=method)
    assert (broken.trajectory.ending, broken.trajectory.failure) == ("failed", "BrowserError: the browser is gone")
    assert broken.trajectory == broken.oracle
    if name != "greedy":
        fragile = hunt(TASKS[0], choose=lambda request: "break" if request.seed % 5 == 0 else wander(request), method=method)
        assert fragile.trajectory.ending == "exited"


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize(
    ("reply", "ending"), [(Reply("", too_long=True), "too_long"), (Reply("", failure="the engine is gone"), "failed")]
)
def test_a_reply_that_cannot_be_had_ends_an_episode_without_a_step(name, reply, ending):
    (found,) = search([Maze()], Same(reply), [TASKS[0]], make(name, TASKS[0], 8))
    assert (found.trajectory.ending, found.trajectory.reward, found.env_steps) == (ending, 0.0, 0)
    assert found.trajectory.failure == reply.failure


def test_confidence_is_the_mean_token_log_probability_and_ties_keep_the_first():
    steps = (Step("", "", logprobs=(-1.0, -2.0)), Step("", "", logprobs=(-3.0,)), Step("", ""))
    states = [SearchState(0, None, (), "", steps[:count]) for count in range(4)]
    assert searching.confidence(states) == [0.0, -1.5, -2.0, -2.0]
    ends = [end(1, logprobs=(-3.0,)), end(2, logprobs=(-1.0,)), end(3, logprobs=(-1.0,))]
    assert searching.by_value(searching.confidence)(ends).number == 2


@pytest.mark.parametrize("choose", [searching.majority, searching.by_value(searching.confidence)])
def test_exited_episodes_precede_truncated_ones(choose):
    endings = ["failed", None, "too_long", "truncated", "exited"]
    ends = [end(number, ending=ending) for number, ending in enumerate(endings)]
    for count in range(1, len(ends) + 1):
        assert choose(ends[:count]).number == count - 1


@pytest.mark.parametrize(("ends", "chosen"), [
    ([end(1, leave("7")), end(2, leave("$12.50 ")), end(3, leave("$12.50"), page="other")], 2),
    ([end(1, leave("Blue  Mug")), end(2, leave("red")), end(3, leave("blue mug"))], 1),
    ([end(1, leave("a")), end(2, leave("b"))], 1),
    ([end(1, page="one"), end(2, page="two"), end(3, page="two")], 2),
    ([end(1, "no action"), end(2, leave("a")), end(3, leave("a"))], 2),
])  # fmt: skip
def test_the_commonest_answer_is_chosen_and_without_answers_the_commonest_page(ends, chosen):
    assert searching.majority(ends).number == chosen


def lengths(sign):
    """A critic that has learned one value for each length of text."""
    return SimpleNamespace(values=lambda texts: [sign * len(text) for text in texts])


def test_critics_read_the_last_page_and_final_critics_also_the_reply():
    page = SearchState(1, None, [{}] * 3, "", ())
    left = SearchState(2, page, [{}] * 9, "", (Step("", "bye"),), "exited")
    lost = SearchState(3, page, [{}] * 3, "", (), "too_long")
    encoder = SimpleNamespace(encode_all=lambda chats: [tuple(range(len(chat))) for chat in chats], encode_reply=tuple)
    assert searching.critic_value(lengths(1), encoder)([page, left, lost]) == [3, 3, 3]
    assert searching.critic_value(lengths(1), encoder, lengths(-1))([page, left, lost]) == [3, -6, 3]


def trainer_of(**method):
    return SimpleNamespace(state_dict=lambda: {"learner": {}, "method": method})


@pytest.mark.parametrize("parts", [["critic"], ["goal_critic", "step_critic"], ["critic", "reward_model"]])
def test_the_critic_of_a_run_is_read_from_its_checkpoint(tmp_path, parts):
    model, tokenizer = tiny.tiny_model()
    critics = {}
    for number, part in enumerate(parts):
        critics[part] = Critic(LanguageValueNetwork(model))
        torch.nn.init.normal_(critics[part].state_dict()["head"]["weight"], generator=torch.Generator().manual_seed(number))
    trainer = trainer_of(**{part: critic.state_dict() for part, critic in critics.items()})
    save_checkpoint(tmp_path, 1, model, tokenizer, trainer, {}, {"system": "none", "elements": "label"})
    page = SearchState(0, None, [{"role": "user", "content": "Open lamp"}], "", ())
    left = SearchState(1, page, [], "", (Step("", leave("lamp")),), "exited")
    value = searching.load_critic(tmp_path)([page, left])
    encoder = PromptEncoder(tokenizer)
    (prompt,) = encoder.encode_all([page.messages])
    of_page = critics.get("critic", critics.get("step_critic")).values([prompt])
    whole = prompt + encoder.encode_reply(leave("lamp"))
    of_end = critics["reward_model"].values([whole]) if "reward_model" in parts else of_page
    assert value == pytest.approx(of_page + of_end, abs=1e-5)
    assert abs(of_page[0] - 0.5) > 1e-3


def test_a_run_without_a_critic_is_refused(tmp_path):
    with expect_error(CheckpointError, tmp_path):
        searching.load_critic(tmp_path)
    save_checkpoint(tmp_path, 1, *tiny.tiny_model(), trainer_of(replay={}), {}, {})
    with expect_error(CheckpointError, tmp_path / "update_0000001"):
        searching.load_critic(tmp_path)


def test_a_language_model_is_searched_and_its_tokens_are_counted():
    policy = tiny.policy(max_new_tokens=4)
    method = partial(searching.tree_search, value=searching.confidence, branching=3, budget=6, reserve=2)
    tasks = tiny.tasks(3)
    found = search([tiny.TinyShop(), tiny.TinyShop()], policy, tasks, method)
    assert sum(item.generated_tokens for item in found) == policy.generated_tokens > 0
    assert all(step.prompt_ids and step.logprobs for item in found for step in item.trajectory.steps)


def test_a_tree_on_the_real_env_goes_back_and_finds_what_one_episode_misses():
    (task,) = draw_tasks([1], 1, templates=["shopping.cart_add"])
    with gymnasium.make("WebArenaLite-v0", tasks=[task], elements="label", disable_env_checker=True) as env:
        _, info = env.reset(seed=0, options={"task": task})
        expert, solution, over = ExpertReplies(), [], False
        while not over:
            solution.append(expert(Request(0, env.unwrapped, info)))
            _, _, terminated, truncated, info = env.step(solution[-1])
            over = terminated or truncated
        wrong = ["go_backward()", 'do(action="Scroll Down")', leave("N/A")]

        def stray(request):
            step = request.info["step"]
            right = solution[step] if step < len(solution) else wrong[1]
            return [*wrong, right][request.slot]

        def progress(states):
            return [sum(step.reply in solution for step in state.steps) / max(len(state.steps), 1) for state in states]

        budget = 8 * len(solution)
        tree = partial(searching.tree_search, value=progress, branching=4, budget=budget, reserve=len(solution))
        plain = partial(searching.best_of_n, choose=searching.by_value(searching.confidence), budget=budget, n=1)
        (found,), (single,) = (search([env], ScriptedPolicy(stray), [task], method, seed=1) for method in (tree, plain))
    assert (found.trajectory.reward, single.trajectory.reward) == (1.0, 0.0)
    assert [step.reply for step in found.trajectory.steps] == solution
    assert found.episodes > 1


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(4))
def test_branches_hold_every_state_that_was_reached(method, seed):
    task = TASKS[seed]
    found = hunt(task, method=make(method, task, 7 + 9 * seed), seed=seed)
    reached = {tuple(step.reply for step in state.steps) for state in found.states}
    replies = [tuple(step.reply for step in branch.steps) for branch in found.branches]
    assert {own[:count] for own in replies for count in range(len(own) + 1)} == reached
    assert found.branches[0] == found.trajectory
    assert max(branch.reward for branch in found.branches) == found.oracle.reward


@pytest.mark.parametrize("method", METHODS)
def test_the_command_line_ends_with_the_record_of_an_evaluation_and_what_was_spent(method, capsys, tmp_path):
    saved = tmp_path / "episodes.jsonl"
    policy = "expert" if method == "greedy" else "random"
    options = ["--policy", policy, "--split", "validation", "--limit", "2", "--method", method, "--budget", "30"]
    command.main([*options, "--max-steps", "30", "--json", "--save", str(saved)])
    record = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (record["n"], record["method"], record["budget"], record["policy"]) == (2, method, 30, policy)
    assert record["low"] <= record["success"] <= record["oracle_any"]["success"]
    assert 0 < record["env_steps"] <= 60
    assert record["generated_tokens"] == 0
    assert len(saved.read_text().splitlines()) == 2
    if method == "greedy":
        assert record["success"] == 1.0
        assert record["episodes"] == 2


@pytest.mark.parametrize(("options", "values"), [
    (["--value", "majority"], ("value", "'majority'")),
    (["--value", "critic"], ("--critic",)),
    (["--workers", "2"], ("workers", 2, 0)),
    (["--budget", "0"], ("budget", 0)),
    (["--branching", "0"], ("branching", 0)),
    (["--policy", "expert"], ("'expert'", "state")),
])  # fmt: skip
def test_settings_that_do_not_go_together_are_refused(options, values):
    with expect_error(ValueError, *values):
        command.main(["--policy", "random", "--method", "tree", "--limit", "1", *options])


def test_greedy_takes_the_likeliest_reply_and_the_others_sample(monkeypatch):
    seen = []

    def create(settings):
        seen.append(settings.temperature)
        return ScriptedPolicy(lambda _: leave())

    monkeypatch.setattr("agents.evaluation.search.create_policy", create)
    for method in METHODS:
        command.main(["--policy", "random", "--method", method, "--limit", "1", "--budget", "2"])
    assert seen == [0.0, 1.0, 1.0, 1.0]
