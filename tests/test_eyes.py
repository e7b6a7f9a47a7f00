"""The agent that sees: what it reads of a picture, and that it learns from pictures alone, by cloning and by reinforcement."""

import copy
import json
from collections import Counter
from contextlib import closing
from math import isnan, nan
from random import Random

import numpy
import pytest
import torch

from agents import eyes, train_eyes
from agents.eyes import Decision, Tasks, clone, create_tasks, demonstrate, improve, train
from agents.models.curiosity import Curiosity
from agents.models.eyes import END, MAX_PIECES, PATCH, SCENE, SCROLL, WIDTH, EpisodeEncoder, Eyes
from agents.training.metrics import read_metrics
from agents.training.settings import EyesSettings
from tests import needs
from tests.errors import expect_error
from webarena_gym.actions import Action, Kind
from webarena_gym.tasks import Task

COLOURS = {"red": (220, 20, 20), "green": (20, 160, 20), "blue": (20, 20, 220), "yellow": (230, 220, 20)}


def observation(rng, beside=0):
    """Return boxes, the number of the one that the goal names, and a picture on which their colours alone differ, so far to the right."""
    names = rng.sample(sorted(COLOURS), 3)
    picture, boxes = numpy.full((210, 160, 3), 255, numpy.uint8), numpy.full((8, 5), -1, numpy.int32)
    for number, name in enumerate(names):
        left, top = rng.randrange(40), 60 * number + rng.randrange(30)
        picture[top : top + 24, left + beside : left + beside + 24] = COLOURS[name]
        boxes[number] = number, left, top, left + 24, top + 24
    target = rng.randrange(3)
    text = "\n".join(f"[{number}] button ''" for number in range(3))
    return {"goal": f"Click on the {names[target]} box.", "text": text, "screenshot": picture, "boxes": boxes}, target


def decisions(seed, count, beside=0):
    rng = Random(seed)
    drawn = [observation(rng, beside) for _ in range(count)]
    return [Decision(EpisodeEncoder(()).encode(seen), target) for seen, target in drawn]


def accuracy(network, held_out):
    with torch.no_grad():
        found = network([each.view for each in held_out])
    return sum(int(own.argmax()) == each.choice_index for own, each in zip(found, held_out, strict=True)) / len(held_out)


def test_encoding_of_an_observation():
    seen, _ = observation(Random(0))
    seen["text"] = "[0] button 'Yes'\n[1] combobox 'Show' options: '12' (selected), '24'\n[2] textbox 'Note' value: ''"
    seen["goal"] = "Click on Yes."
    encoder = EpisodeEncoder(["red;", "7"])
    encoder.take(encoder.encode(seen), 1)
    view = encoder.encode(seen)
    clicks = [Action(Kind.CLICK, str(number)) for number in range(3)]
    selects = [Action(Kind.SELECT, "1", value) for value in ("12", "24")]
    writes = [Action(Kind.TYPE, "2", ""), Action(Kind.SEARCH, "2", "")]
    assert view.choices == [*clicks[:2], *selects, clicks[2], *writes, Action(Kind.EXIT, argument=""), SCROLL]
    assert (view.scene.shape, view.patches.shape) == ((3, *SCENE), (4, 3, *PATCH))
    assert view.marks == [1, 2, 2, 2, 3, 3, 3, 0, 0]
    left, top, right, bottom, width, height, share, is_named, was_chosen, is_written = view.features.T
    assert (left[:7] < right[:7]).all()
    assert (top[:7] < bottom[:7]).all()
    assert width == pytest.approx(right - left)
    assert height == pytest.approx(bottom - top)
    assert (share[0], list(is_named)) == (1.0, [1] + [0] * 8)
    assert list(was_chosen) == [0, 1] + [0] * 7
    assert list(is_written) == [0, 0, 0, 0, 0, 1, 1, 1, 0]
    assert not view.patches[0].any()


def test_a_text_is_written_piece_by_piece():
    seen, _ = observation(Random(0))
    seen["text"] = "[0] textbox 'Note' value: ''\n[1] link 'Bowl'\n[2] button 'Save'"
    seen["goal"] = "Note the colour of the Blue Jug."
    encoder = EpisodeEncoder(["red;"])

    decisions = []

    def take(choice):
        view = encoder.encode(seen)
        decisions.append(Decision(view, view.choices.index(choice)))
        return encoder.take(view, decisions[-1].choice_index)

    assert take(Action(Kind.TYPE, "0", "")) is None
    assert set(encoder.encode(seen).choices) > {END, "red;", "Blue Jug", "Bowl", "Note", "Save"}
    assert [take("red;"), take("Blue Jug")] == [None, None]
    assert take(END) == 'do(action="Type", argument="red; Blue Jug", element="0")'
    assert take(Action(Kind.EXIT, argument="")) is None
    assert [take("Bowl") for _ in range(MAX_PIECES)] == [None] * (MAX_PIECES - 1) + [f'exit(message="{"Bowl " * 9}Bowl")']
    assert eyes.count_steps([[(decisions, 1.0)], [(decisions[:1], 0.0)]]) == 3, "typing and the answer, and typing"


def test_a_page_without_marks_can_be_scrolled():
    seen, _ = observation(Random(0))
    seen["boxes"][:] = -1
    assert EpisodeEncoder(()).encode(seen).choices == [SCROLL]


@needs.chromium
def test_tasks_that_need_eyes_are_demonstrated(tmp_path):
    """Of what a small network can choose: a search for a name of the goal, a click, an option, and a text of several pieces."""
    tasks = create_tasks(EyesSettings(out=tmp_path, worlds=(11, 12, 13), max_steps=16))
    with closing(tasks.env):
        for name in ("box_and_ribbon", "cart_by_sticker", "save_with_pins"):
            task = next(task for task, template in tasks.train if template == f"pictures.{name}")
            decisions = demonstrate(tasks, task, Random(0))
            kinds = [
                choice.kind
                for choice in (each.view.choices[each.choice_index] for each in decisions)
                if isinstance(choice, Action)
            ]
            assert kinds[-1] == Kind.EXIT
            assert [kind for kind in kinds if kind != Kind.SCROLL_DOWN] == [step.action.kind for step in task.solution]


def test_encodings_do_not_depend_on_the_rest_of_the_batch():
    torch.manual_seed(0)
    network, given = Eyes().eval(), decisions(0, 4)
    with torch.no_grad():
        alone = [network([each.view])[0] for each in given]
        together = network([each.view for each in given])
    for one, other in zip(alone, together, strict=True):
        assert one.tolist() == pytest.approx(other.tolist(), abs=1e-5)
        assert one.exp().sum().item() == pytest.approx(1.0)


@pytest.mark.slow
@pytest.mark.parametrize(("beside", "updates", "least"), [(0, 80, 0.85), (80, 120, 0.7)])
def test_it_learns_colours_from_pictures_alone_on_a_mark_and_beside_it(tmp_path, beside, updates, least):
    held_out, shown = decisions(1, 100, beside), decisions(0, 200, beside)

    def learned(seed):
        torch.manual_seed(seed)
        network = Eyes().eval()
        assert accuracy(network, held_out) < 0.6
        clone(network, shown, EyesSettings(out=tmp_path, clone_updates=updates))
        return accuracy(network, held_out)

    assert any(learned(seed) > least for seed in range(3))  # of three boxes; how soon it learns depends on weights and rounding


def test_templates_near_half_success_are_drawn_more_often():
    tasks = [(number, f"{number % 3}") for number in range(9)]
    drawn = eyes.sample_tasks(tasks, {"0": 1.0, "1": 0.0}, 600, Random(0))  # of "2" nothing is known
    counts = Counter(name for _, name in drawn)
    assert 450 < counts["2"] < 580
    assert min(counts["0"], counts["1"]) > 20
    assert {number for number, name in drawn if name == "2"} == {2, 5, 8}


def test_reinforcement_makes_what_was_better_likelier(tmp_path):
    torch.manual_seed(0)
    settings = EyesSettings(out=tmp_path, epochs=1, temperature=1.0)
    network = Eyes().eval()
    (view,) = [each.view for each in decisions(0, 1)]
    with torch.no_grad():
        (before,) = network([view])
    optimizer = torch.optim.Adam(network.parameters(), 1e-3)
    episodes = [([Decision(view, chosen, float(before[chosen]))], float(chosen == 1)) for chosen in (0, 1, 2)]
    broken = ([Decision(view, 2, float(before[2]))], nan)
    metrics = improve(network, [[*episodes, broken]], optimizer, settings, Random(0))
    with torch.no_grad():
        (after,) = network([view])
    assert after[1] > before[1]
    assert metrics["rollouts"] == 3, "an episode whose browser failed is none"
    assert metrics["success"] == pytest.approx(1 / 3)
    equal = improve(network, [episodes[:1] * 2], optimizer, settings, Random(0))
    assert equal["trained_steps"] == 0, "equal rewards tell nothing"


def test_advantages_of_a_group_sum_to_zero(tmp_path):
    torch.manual_seed(0)
    settings = EyesSettings(out=tmp_path, epochs=1, temperature=1.0)
    network = Eyes().eval()
    (view,) = [each.view for each in decisions(0, 1)]
    before = [parameter.detach().clone() for parameter in network.parameters()]
    with torch.no_grad():
        logprob = float(network([view])[0].log_softmax(0)[1])
    same = [([Decision(view, 1, logprob)], reward) for reward in (1.0, 0.0)]  # one choice, rewarded and not: nothing to learn
    metrics = improve(network, [same], torch.optim.SGD(network.parameters(), 1.0), settings, Random(0))
    assert metrics["trained_steps"] == 2
    assert metrics["loss"] == pytest.approx(0.0, abs=1e-6)
    for parameter, old in zip(network.parameters(), before, strict=True):
        assert torch.allclose(parameter, old, atol=1e-5)


@pytest.mark.parametrize("rewards", [(1.0, 0.0, 0.0), (1.0, 1.0, 0.0)])
def test_a_choice_with_less_than_the_mean_reward_becomes_less_likely(tmp_path, rewards):
    torch.manual_seed(0)
    network = Eyes().eval()
    (view,) = [each.view for each in decisions(0, 1)]
    with torch.no_grad():
        before = network([view])[0].log_softmax(0)
    group = [([Decision(view, choice, float(before[choice]))], reward) for choice, reward in enumerate(rewards)]
    settings = EyesSettings(out=tmp_path, epochs=1, temperature=1.0)
    improve(network, [group], torch.optim.SGD(network.parameters(), 0.1), settings, Random(0))
    with torch.no_grad():
        after = network([view])[0].log_softmax(0)
    assert after[0] > before[0]
    assert after[2] < before[2]


class Boxes:
    """An env of one click on one of three boxes, by the number of the task."""

    def reset(self, *, options):
        seen, self.target = observation(Random(options["task"]))
        self.task = Task(options["task"], ("miniwob",), "", "", {})
        return seen, {}

    def step(self, reply):
        return {}, float(f'element="{self.target}"' in reply), True, False, {}

    def close(self):
        pass


def test_mentor_goes_on_as_if_it_had_not_been_interrupted(tmp_path):
    tasks = Tasks(
        Boxes(), [(f"box/{number}", "box") for number in range(4)], [(f"box/{number}", "box") for number in range(4, 10)], []
    )
    options = {"clone_updates": 4, "tasks_per_update": 2, "group_size": 4, "experts": 16, "perturb_every": 1}

    def run(folder, updates):
        train(EyesSettings(out=tmp_path / folder, updates=updates, **options), tasks)
        return torch.load(tmp_path / folder / eyes.NEWEST, weights_only=True)

    whole, first = run("whole", 2), run("parts", 1)
    assert (len(first["best"]), first["update"]) == (1, 1)
    parts = run("parts", 2)
    assert (len(parts["best"]), parts["update"]) == (2, 2)
    assert all(torch.equal(value, whole["network"][name]) for name, value in parts["network"].items())
    metrics = read_metrics(tmp_path / "parts")
    assert all(0 <= record["dormant_ratio"] <= 1 and 0.2 <= record["kept_weights"] <= 0.9 for record in metrics)


class Rooms(Boxes):
    """Two clicks: the last of three boxes leads to a page of another colour, and the others change nothing. `reward` ends every episode."""

    def __init__(self, reward=0.0):
        self.reward = reward

    def reset(self, *, options):
        self.seen, _ = super().reset(options={"task": f"box/{options['task'][-1]}"})
        self.clicks = 0
        return self.seen, {}

    def step(self, reply):
        self.clicks += 1
        if 'element="2"' in reply:
            self.seen = {**self.seen, "screenshot": numpy.full((210, 160, 3), (40, 0, 90), numpy.uint8)}
        self.seen = {**self.seen, "screenshot": self.seen["screenshot"].copy()}
        return self.seen, self.reward, self.clicks == 2, False, {}


def rooms(reward=0.0):
    return Tasks(Rooms(reward), [(f"box/{number}", "box") for number in range(3)], [("box/3", "box")], [])


CURIOUS = {
    "explore_updates": 2,
    "clone_updates": 0,
    "updates": 0,
    "tasks_per_update": 2,
    "group_size": 4,
    "max_steps": 2,
    "temperature": 1.0,
}


def test_exploration_uses_no_reward_of_the_tasks_and_keeps_the_actor(tmp_path):
    networks = []
    for reward in (0.0, 1.0):
        result = train(EyesSettings(out=tmp_path / f"{reward}", **CURIOUS), rooms(reward))
        networks.append(torch.load(tmp_path / f"{reward}" / eyes.NEWEST, weights_only=True)["network"])
        assert (len(result["curiosity"]), result["demonstrated"], result["env_steps"]) == (2, 0, 2 * 2 * 4 * 2)
    torch.manual_seed(0)
    start = Eyes().state_dict()
    assert all(torch.equal(value, networks[1][name]) for name, value in networks[0].items())
    assert any(not torch.equal(value, start[name]) for name, value in networks[0].items())


def test_exploration_goes_on_as_if_it_had_not_been_interrupted(tmp_path):
    settings = EyesSettings(out=tmp_path, **CURIOUS)

    def run(stop=None):
        torch.manual_seed(0)
        network, state = Eyes(), {}
        saved = []

        def save():
            saved.append(copy.deepcopy(state))
            if len(saved) == stop:
                raise KeyboardInterrupt

        return network, state, saved, lambda: eyes.explore(network, rooms(), settings, state, save)

    whole, _, _, explore = run()
    explore()
    _, _, saved, explore = run(stop=1)
    with pytest.raises(KeyboardInterrupt):
        explore()
    torch.manual_seed(0)
    network = Eyes()
    eyes.explore(network, rooms(), settings, saved[0], lambda: None)
    assert all(torch.equal(value, whole.state_dict()[name]) for name, value in network.state_dict().items())


def test_the_reward_of_exploration_is_the_mean_curiosity_about_later_pages(tmp_path, monkeypatch):
    groups, views = [], decisions(0, 3)
    pages = [views[0], views[0], views[1], views[2]]  # two decisions on the first page
    monkeypatch.setattr(eyes, "play_groups", lambda *_: (["box"], [[(pages, 1.0), (pages[:2], 1.0), (pages[:3], nan)]]))
    monkeypatch.setattr(eyes, "improve", lambda _, rewarded, *__: groups.extend(rewarded))
    torch.manual_seed(0)
    network, curiosity = Eyes().eval(), Curiosity(WIDTH)
    with torch.no_grad():
        expected = curiosity(network.scene_features([decision.view for decision in views[1:]])).mean()
    monkeypatch.setattr(eyes, "Curiosity", lambda width: curiosity)
    eyes.explore(network, rooms(), EyesSettings(out=tmp_path, **{**CURIOUS, "explore_updates": 1}), {}, lambda: None)
    ((whole, first, failed),) = groups
    assert whole[1] == pytest.approx(float(expected), rel=1e-4)
    assert first[1] == 0, "nothing was opened"
    assert isnan(failed[1])


def test_a_run_without_any_demonstration_is_refused(tmp_path):
    with expect_error(ValueError, "3 training tasks", "clone_updates"):
        train(EyesSettings(out=tmp_path, max_steps=2), rooms())
    with expect_error(ValueError, "max_steps", 1, 2, "explore_updates"):
        EyesSettings(out=tmp_path, explore_updates=1, max_steps=1)


def test_networks_of_earlier_versions_are_read():
    names = {name for name in Eyes().state_dict() if name.startswith("score.")}
    assert names == {"score.0.weight", "score.0.bias", "score.3.weight", "score.3.bias"}
    assert Eyes().gate_loss == 0
    with expect_error(ValueError, "top_experts", 4, 3):
        EyesSettings(out="runs/eyes", experts=3)


@pytest.mark.slow
@needs.chromium
@needs.miniwob
def test_a_run_goes_on_from_its_last_save(tmp_path, capsys):
    arguments = [
        "--out", str(tmp_path), "--tasks", "click-test-2", "--shown", "3", "--clone-updates", "4", "--tasks-per-update", "1",
        "--group-size", "2", "--evaluated", "2", "--max-steps", "1",
    ]  # fmt: skip
    train_eyes.main([*arguments, "--updates", "1"])
    assert "n = 2" in capsys.readouterr().out
    saved = torch.load(tmp_path / eyes.NEWEST, weights_only=True)
    earlier = {key: value for key, value in saved.items() if key not in ("best", "cpu_minutes")}
    torch.save(earlier, tmp_path / eyes.NEWEST)  # as earlier versions wrote it
    train_eyes.main([*arguments, "--updates", "2"])
    again = torch.load(tmp_path / eyes.NEWEST, weights_only=True)
    assert (saved["update"], again["update"]) == (1, 2)
    assert saved["clone"] == again["clone"]
    torch.save({**again, "cpu_minutes": 100.0}, tmp_path / eyes.NEWEST)
    train_eyes.main([*arguments, "--updates", "2"])
    assert json.loads((tmp_path / "result.json").read_text())["cpu_minutes"] > 100.0, "the time before the interruption counts"
    with expect_error(ValueError, "clone_updates"):
        train_eyes.main([*arguments, "--updates", "3", "--clone-updates", "5"])
