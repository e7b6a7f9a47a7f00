"""Envs of applications and suites on a Ray cluster: they run on the nodes that have them, and end with their actors."""

import importlib.util
import os
from contextlib import closing
from pathlib import Path

import pytest

from agents.cluster import StreamSettings
from tests.clocks import until
from tests.errands import ERRANDS
from tests.own_application import folder as folder
from webarena_gym.applications import processes
from webarena_gym.applications.suite import add_suite
from webarena_gym.options import read_source
from webarena_gym.suite import find

if importlib.util.find_spec("ray") is None:
    pytest.skip("no Ray here: pip install 'ray[train]'", allow_module_level=True)

import ray
from ray.cluster_utils import Cluster

from agents.cluster.envs import create_envs

pytestmark = pytest.mark.filterwarnings("default")  # Ray's own are not ours to mend
ON_NODE = StreamSettings(env_workers=2, env_resource="files")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Return the data folder of the nodes, which have one added suite."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("data")))
        patch.setenv("RAY_worker_niceness", "0")  # by default 15, with which actors hardly run on a busy machine
        add_suite("errands", ERRANDS / "suite.toml")
        yield


@pytest.fixture(scope="module")
def node(data):
    """Return the id of the second of two nodes, which alone has the resource."""
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 2})
    node = cluster.add_node(num_cpus=2, resources={"files": 2})
    ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
    yield node.node_id
    ray.shutdown()
    cluster.shutdown()


def solve(envs, task):
    """Return the rewards of the task's solution in all envs."""
    everywhere = range(envs.num_envs)
    envs.async_reset([None] * envs.num_envs, [{"task": task.task_id}] * envs.num_envs, everywhere)
    results = wait(envs)
    for step in task.solution:
        assert not any(result.info["action_error"] for result in results.values())
        envs.send([step.to_json()["action"]] * envs.num_envs, everywhere)
        results = wait(envs)
    return [results[env_id].reward for env_id in everywhere]


def wait(envs):
    results = {}
    while len(results) < envs.num_envs:
        results |= envs.poll()
    return results


def describe(_):
    """Return the node of an actor, and the host processes of its applications."""
    hosts = [launcher._host.process_id for launcher in processes._launchers.values() if launcher._host]
    return ray.get_runtime_context().get_node_id(), hosts


@pytest.mark.parametrize(
    ("source", "task_id"),
    [({"application": "{folder}"}, "add"), ({"suite": "errands"}, "shelf.jam"), ({"suite": "{errands}"}, "shelf.jam")],
    ids=["application", "name of a suite", "file of a suite"],
)
def test_envs_of_an_application_run_on_the_nodes_that_have_it_and_end_with_their_actors(
    node, folder, monkeypatch, source, task_id
):
    monkeypatch.chdir(folder.parent)
    paths = {"folder": folder.name, "errands": os.path.relpath(ERRANDS / "suite.toml")}
    source = {name: value.format(**paths) for name, value in source.items()}
    task = find(task_id, **read_source(source.get("application"), source.get("suite")))
    with closing(create_envs([task], 2, ON_NODE, elements="label", **source)) as envs:
        assert solve(envs, task) == [1.0, 1.0]
        nodes, hosts = zip(*ray.get([actor.__ray_call__.remote(describe) for actor in envs._actors]), strict=True)
        assert set(nodes) == {node}
        assert all(hosts)
    for host in (host for of_actor in hosts for host in of_actor):
        until(lambda host=host: not Path("/proc", str(host)).exists())


def test_an_application_that_a_node_lacks_fails_its_episodes(node, folder):
    task = find("add", **read_source(str(folder), None))
    with closing(create_envs([task], 1, StreamSettings(env_workers=1), application=str(folder / "elsewhere"))) as envs:
        envs.async_reset([None], [{}], [0])
        assert "elsewhere" in wait(envs)[0].info["failure"]
