"""Episodes and files of reports, for their tests."""

import base64
import gzip
import json
import re
from contextlib import closing

import pytest

from agents.data.trajectories import Step, Trajectory
from agents.evaluation.evaluate import evaluate
from agents.rollouts.policies import ExpertReplies, ScriptedPolicy
from agents.settings import EnvSettings
from webarena_gym import suite as task_suite

HOSTILE = "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'><!--<b>\u2028"

HOSTILE_PAGE = f"""<html><body onload="parent.hacked = 1"><a data-marked href="javascript:parent.hacked = 1">Here</a>
<style>@import "http://elsewhere.test/a.css"; b {{ background: url(http://elsewhere.test/b.png) }}</style><b>Bold</b>
<img data-asset="constructor" src="http://elsewhere.test/c.png">{HOSTILE}<meta http-equiv=refresh content="0;url=http://elsewhere.test">"""


def trajectory(reward=0.0, ending="exited", reply="go_backward()", task_id="t/1", page="<a>Tom & Jerry</a>"):
    verdicts = ({"check": "url", "passed": False, "reason": f"a<b {HOSTILE}", "decided_by": "equal text"},)
    return Trajectory(task_id, f"Buy {HOSTILE}", (Step(page, reply, f"no {HOSTILE}"),), reward, ending, verdicts=verdicts)


def played(tasks, **settings):
    with closing(ScriptedPolicy(ExpertReplies())) as policy:
        return evaluate(policy, tasks, EnvSettings(**settings), num_envs=2, quiet=True).trajectories


@pytest.fixture(scope="module")
def shop_tasks():
    return task_suite.draw(["shopping.cart_add", "shopping.reviews_place"], world_seed=1000, count=1)


@pytest.fixture(scope="module")
def expert(shop_tasks):
    return played(shop_tasks)


@pytest.fixture(scope="module")
def numbered(shop_tasks):
    """The episodes of the expert where elements have numbers."""
    return played(shop_tasks, elements="id")


def unpacked(text):
    return json.loads(gzip.decompress(base64.b64decode(text)))


def data_of(text):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL).group(1))


def write_metrics(folder, records):
    folder.mkdir(parents=True)
    (folder / "metrics.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
