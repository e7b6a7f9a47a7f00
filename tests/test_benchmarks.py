"""The benchmarks do what they say; how fast things are is not for tests to judge."""

import json
import os
import sys
from random import Random
from types import SimpleNamespace

import pytest

from benchmarks import env_speed, plots, scaling, soak
from benchmarks.env_speed import PARTS, Stopwatch, serving
from benchmarks.machine import cores, family, held_by, use_cores
from benchmarks.peers.contender import Contender, play_round
from benchmarks.recording import record, walk_only
from webarena_gym.env import WebArenaLite

KEYS = {
    *(f"{name}_{figure}" for name in ("inprocess", "chromium", "browsergym") for figure in ("steps_per_s", "reset_ms", "mb_per_env")),
    "floor_steps_per_s", "browsergym_nowait_steps_per_s", "async_over_lockstep", "two_core_scaling", "commit", "machine", "versions",
}  # fmt: skip
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc is Linux's")


@pytest.fixture(autouse=True)
def all_cores():
    before = cores()
    yield
    use_cores(before)


@pytest.fixture(scope="module")
def walks():
    env = WebArenaLite(split="test", max_steps=60)
    return [walk_only(one) for one in record(env, [task for task in env.tasks if task.sites == ("shopping",)][:3])]


def speed(monkeypatch, capsys, *arguments):
    monkeypatch.setattr(sys, "argv", ["env_speed", "--quick", "--only", "inprocess", *arguments])
    monkeypatch.setattr(scaling, "rate", lambda use, *, batch, **_: scaling.Rate(100.0 * len(use) / batch, 100, 1.0))
    monkeypatch.setattr(env_speed, "QUICK", env_speed.QUICK._replace(suite_part=4, starts=1))
    env_speed.main()
    return capsys.readouterr()


def test_the_last_line_is_an_object_with_all_keys_and_null_for_who_is_not_here(monkeypatch, capsys):
    result = json.loads(speed(monkeypatch, capsys, "--json").out.splitlines()[-1])
    assert set(result) >= KEYS
    assert result["inprocess_steps_per_s"] > 0
    assert result["suite_first_steps_per_s"] > 0
    assert result["inprocess_failures"] == []
    assert result["browsergym_steps_per_s"] is None
    assert result["inprocess_over_browsergym"] is None
    assert result["async_over_lockstep"] == 4
    assert set(result["step_parts_ms"]) == {"act", *PARTS}


def test_peers_that_are_not_installed_are_named_with_what_installs_them(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(env_speed, "PEERS_PYTHON", tmp_path / "python")
    env_speed.tell_absent(["inprocess", "browsergym"], ["inprocess"])
    assert "browsergym; `make peers` installs" in capsys.readouterr().err


def test_pictures_show_results_with_gaps_and_a_line_for_each_run(tmp_path):
    pytest.importorskip("matplotlib")
    result = dict.fromkeys(plots.BARS) | {"inprocess_steps_per_s": 700.0, "webarena_steps_per_s": 0.5}
    point = {"envs": 1, "steps_per_s": 5.0, "lockstep_steps_per_s": 4.0}
    plots.draw(result | {"scaling": [point, point | {"envs": 4}]}, tmp_path / "speed.png")
    curves = {name: [0.1, 0.4, 0.2] for name in plots.DYNAMICS}
    plots.draw_dynamics({"dynamics": {"0/0": curves, "0/1": curves, "1/0": curves}}, tmp_path / "learning.png")
    assert all((tmp_path / name).read_bytes().startswith(b"\x89PNG") for name in ("speed.png", "learning.png"))


def test_envs_in_a_process_of_their_own_tell_how_fast_they_were():
    measured = scaling.rate(cores()[-1:], envs=2, workers=1, batch=1, seconds=0.2, wait_ms=1, site="shopping", warm_up=2)
    assert measured.steps > 0
    assert measured.steps_per_s > 0


def test_a_step_that_leads_elsewhere_is_a_failure_and_no_time_and_who_breaks_down_is_an_error(walks):
    astray = walks[0]._replace(steps=(walks[0].steps[0]._replace(path="/elsewhere"),))
    ours = Contender("inprocess", ("benchmarks.peers.package_adapter", "inprocess"), warm_up=0)
    with serving(env_speed.WORLD) as served:
        measured = play_round(ours, [astray], walks, served)
    assert measured.step_ms == []
    assert "instead of /elsewhere" in measured.failures[0]
    assert all(step.index is not None and not step.reply.startswith("exit") for walk in walks for step in walk.steps)
    assert walks[0].steps[0].loads
    assert walks[0].steps[0].path != walks[0].start
    with serving(env_speed.WORLD) as served, pytest.raises(RuntimeError, match="No module named"):
        play_round(Contender("nobody", ("benchmarks.peers.nobody",)), walks[:1], walks, served)


def test_a_part_inside_another_interrupts_it(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(env_speed, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    watch = Stopwatch()

    def spend(seconds):
        now[0] += seconds

    def outer():
        spend(2)
        watch.around("inner", spend)(30)
        spend(1)

    watch.around("outer", outer)()
    assert (watch.seconds["outer"], watch.seconds["inner"]) == (3, 30)


@linux
def test_a_process_holds_memory_and_files_and_is_its_own_family():
    held = held_by(os.getpid())
    assert held.mb > 10
    assert held.files >= 3
    assert os.getpid() in family(os.getpid())


def test_random_replies_are_in_the_dialect():
    env = WebArenaLite(split="test")
    _, info = env.reset(seed=0)
    random = Random(0)
    for _ in range(200):
        env.dialect.parse(soak.random_reply(info["page"], random))


@pytest.mark.parametrize("mode", [["--minutes", "0.02"], ["--kill", "--episodes", "4", "--every", "0.5"]])
def test_a_soak_ends_well_when_nothing_is_wrong(monkeypatch, capsys, mode):
    monkeypatch.setattr(sys, "argv", ["soak", "--envs", "2", "--workers", "2", *mode])
    monkeypatch.setattr(soak, "SETTINGS", {"split": "test", "max_steps": 60, "tasks": ["shopping.product_price/1000/0"]})
    with pytest.raises(SystemExit) as ended:
        soak.main()
    result = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert result["wrong"] == []
    assert ended.value.code == 0


def test_an_episode_that_was_lost_without_a_kill_is_wrong_and_so_is_memory_that_keeps_growing():
    tally = soak.Tally()
    row = {"env": 3, "over": True, "reward": float("nan"), "failure": "gone", "page": "", "task": "t"}
    soak._judge(row, True, tally)
    assert tally.wrong == []
    soak._judge(row, False, tally)
    soak._judge(row | {"failure": "", "reward": 0.0}, True, tally)
    assert len(tally.wrong) == 2
    samples = [soak.Sample(minute, 100.0 + 5 * minute, 10, 3, 0) for minute in range(60)]
    assert soak._growth(samples, tally)["mb_second_half"] > 200
    assert "memory grew" in tally.wrong[-1]


def test_the_arena_s_benchmark_says_what_was_solved(monkeypatch, capsys):
    from benchmarks import arena  # noqa: PLC0415 - needs the extra serve

    timed_ms = arena.timed_ms
    monkeypatch.setattr(arena, "timed_ms", lambda work, times: timed_ms(work, min(times, 3)))
    monkeypatch.setattr(arena, "_ROUNDS", 1)
    monkeypatch.setattr(sys, "argv", ["arena", "--tasks", "2", "--episodes", "3", "--cores", "2"])
    arena.main()
    found = json.loads(capsys.readouterr().out)
    assert found["solutions"] == {"tasks": 2, "browse_solved": 2, "step_solved": 2, "session_solved": 2}
    assert (found["crowd"]["saw_their_own_alone"], found["crowd"]["judged_by_their_own"]) == (3, 3)
    assert found["speed"]["step_1_client"]["steps_per_s"] > 0
