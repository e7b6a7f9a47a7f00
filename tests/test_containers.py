"""Applications in containers, tried with an image of BusyBox that is made here, and refused where they cannot run."""

import io
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import time
from contextlib import closing
from pathlib import Path

import pytest

from tests.errors import expect_error
from webarena_gym import WebArenaLite
from webarena_gym.applications.application import Application, read_application
from webarena_gym.applications.containers import (
    LABEL,
    container_command,
    container_name,
    engine_variables,
    find_engine,
    ignored_limits,
    remove_orphans,
)
from webarena_gym.applications.processes import close_all, copies_folder
from webarena_gym.applications.trust import grants_of
from webarena_gym.errors import ApplicationError
from webarena_gym.tasks import parse_task

IMAGE = "webarena-gym-test:1"
PAGE = """#!/bin/sh
if [ "$REQUEST_METHOD" = POST ]; then
  read -r -n "$CONTENT_LENGTH" body
  httpd -d "${body#title=}" >> "$NOTES/notes.txt"
  echo >> "$NOTES/notes.txt"
  echo x >> /counted
fi
printf 'Content-Type: text/html; charset=utf-8\\r\\n\\r\\n'
echo "<!doctype html><title>Notes</title><h1>Notes</h1><p>Posts: $(cat /counted 2>/dev/null | wc -l)</p><ul>"
while read -r line; do echo "<li>$line</li>"; done < "$NOTES/notes.txt"
echo '</ul><form method=post><label>Title <input name=title></label><button>Add</button></form>'
"""
PROBE = """#!/bin/sh
printf 'Content-Type: text/plain\\r\\n\\r\\n'
hostname
echo "$HTTPS_PROXY"
echo "$TOKEN"
cat /sys/fs/cgroup/memory/memory.limit_in_bytes 2>/dev/null || cat /sys/fs/cgroup/memory.max
ls /sys/class/net | tr '\\n' ' '
echo; echo http://localhost:8080/there
"""
TOKEN = """  'hush' "= # hush"""
CAN_LIMIT = not os.geteuid() or Path("/sys/fs/cgroup/cgroup.controllers").exists()
LIMITS = '[limits]\nmemory = "64M"\nprocesses = 50\n' if CAN_LIMIT else ""
ADD = ('do(action="Type", argument="{0}", element="Title")', 'do(action="Click", element="Add")')
TASK = {
    "task_id": "milk", "intent": "Add the note Milk.", "sites": ["notes"], "start_url": "__NOTES__/", "require_login": False,
    "eval": {"eval_types": ["file"], "file": [{"path": "notes.txt", "contains": "Milk"}]},
}  # fmt: skip


def engine(*words):
    return subprocess.run(
        [find_engine(), *words], check=False, capture_output=True, text=True, env=engine_variables(), timeout=60
    )


@pytest.fixture(scope="module", params=["podman", "docker"])
def image(request, tmp_path_factory):
    """Make an image of a static BusyBox and two shell scripts for an engine, or skip the test."""
    busybox = shutil.which("busybox")
    if not shutil.which(request.param):
        pytest.skip(f"there is no {request.param} here")
    content = Path(busybox).read_bytes() if busybox else b""
    if not content or b"/ld-" in content[:4096]:  # the path of a loader of libraries
        pytest.skip("no static BusyBox here: apt-get install busybox-static")
    if os.geteuid() and request.param == "docker":
        pytest.skip("only root can reach the network of a container of Docker")
    archive = tmp_path_factory.mktemp("image") / "image.tar"
    with tarfile.open(archive, "w") as tar:
        for name, data in (
            ("bin/busybox", content), ("www/cgi-bin/index.cgi", PAGE.encode()), ("www/cgi-bin/probe", PROBE.encode()),
        ):  # fmt: skip
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(data), 0o755
            tar.addfile(info, io.BytesIO(data))
        for name in ("sh", "cat", "wc", "hostname", "ls", "tr", "httpd", "touch"):
            link = tarfile.TarInfo(f"bin/{name}")
            link.type, link.linkname = tarfile.SYMTYPE, "busybox"
            tar.addfile(link)
    monkeypatch = pytest.MonkeyPatch()
    monkeypatch.setenv("WEBARENA_GYM_CONTAINER_ENGINE", request.param)
    start = ["CMD", '["/bin/busybox", "httpd", "-f", "-p", "8080", "-h", "/www"]']
    made = engine("import", "--change", " ".join(start), "--change", "ENV PATH=/bin", str(archive), IMAGE)
    tried = engine("run", "--rm", "--network=none", "--pull=never", IMAGE, "/bin/busybox", "true")
    if made.returncode or tried.returncode:
        monkeypatch.undo()
        pytest.skip(f"this system starts no containers: {(made.stderr + tried.stderr)[-200:]}")
    yield IMAGE
    close_all()
    engine("rmi", "--force", IMAGE)
    monkeypatch.undo()


@pytest.fixture
def folder(image, tmp_path):
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "notes.txt").write_text("Tea\n")
    (tmp_path / "webarena-app.toml").write_text(
        f'name = "notes"\nimage = "{image}"\nimage_port = 8080\nvolume = "/data"\nstate = "state"\n'
        f'{LIMITS}[environment]\nNOTES = "{{state}}"\nTOKEN = {json.dumps(TOKEN)}\n'
    )
    yield tmp_path
    close_all()


def make(folder):
    return WebArenaLite(application=folder, tasks=[parse_task(TASK)], elements="label")


def add(env, title):
    for action in ADD:
        observation = env.step(action.format(title))[0]
    return observation


def running():
    return engine("ps", "--all", "--quiet", "--filter", f"label={LABEL}").stdout.split()


def test_an_episode_has_a_new_container_with_its_copy_of_the_state(folder):
    with closing(make(folder)) as env, closing(make(folder)) as other:
        first, _ = env.reset()
        other.reset()
        assert "Milk" in add(env, "Milk")
        assert "Posts: 2" in add(env, "Oat cakes")
        assert "Milk" not in other.step('do(action="Wait")')[4]["page"]
        assert env.reset()[0] == first, "files outside of the state are new too"
        assert (folder / "state" / "notes.txt").read_text() == "Tea\n"
        add(env, "Milk")
        assert env.step("exit()")[1] == 1.0
        other.reset()
        for title in ("Milk", "Ink"):
            add(other, title)
        _, reward, *_, info = other.step("exit()")
        assert reward == 0.0
        assert "Ink" in info["verdicts"][-1]["reason"]


def test_an_episode_in_a_container_continues_from_its_snapshot(folder):
    with closing(make(folder)) as env, closing(make(folder)) as fork:
        env.reset()
        add(env, "Milk")
        snapshot = env.snapshot()
        add(env, "Ink")
        fork.restore(snapshot)
        changes = fork.backend.changes()
        assert [change.after for change in changes] == [{"line": "Milk"}]
        assert fork.step("exit()")[1] == 1.0


def test_a_container_reaches_only_itself_and_has_its_limits(folder, monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy")
    file = folder / "webarena-app.toml"
    file.write_text('inherits = ["HTTPS_PROXY"]\n' + file.read_text())
    with closing(make(folder)) as env:
        env.reset()
        lines = env.network.request("GET", "http://notes.test/cgi-bin/probe").body.decode().splitlines()
        name, proxy, token, memory, interfaces, address = lines
        assert proxy == "http://proxy", "a variable of inherits, also if it is a proxy"
        assert token == TOKEN
        assert (name, interfaces.split()) == ("notes.test", ["lo"])
        assert not CAN_LIMIT or int(memory) == 64 << 20
        assert address == "http://notes.test/there", "its own address and port are replaced by the public address"


def test_no_process_shows_values_of_variables_in_its_arguments(folder, monkeypatch):
    monkeypatch.setenv("SECRET", "whisper")
    file = folder / "webarena-app.toml"
    file.write_text('inherits = ["SECRET"]\n' + file.read_text())
    with closing(make(folder)) as env:
        env.reset()
        lines = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()]
        assert any(b"--env-file=" in line for line in lines), "the engine runs as long as the container"
        assert not [line for line in lines if b"hush" in line or b"whisper" in line]


def test_a_container_that_ends_is_never_a_reward_of_0(folder):
    with closing(make(folder)) as env:
        env.reset()
        engine("kill", container_name(env.backend._current.folder))
        env.step(ADD[1])
        _, reward, *_, info = env.step("exit()")
        assert math.isnan(reward), info
        env.reset()
        add(env, "Milk")
        assert env.step("exit()")[1] == 1.0


def test_no_container_outlives_its_process(folder):
    before = set(running())
    program = f"""
import os, signal, sys
sys.path.insert(0, {str(Path.cwd())!r})
from tests.test_containers import make
env = make({str(folder)!r})
env.reset()
print("ready", flush=True)
os.kill(os.getpid(), signal.SIGKILL) if sys.argv[1] == "kill" else env.close()
"""
    for end in ("kill", "close"):
        result = subprocess.run([sys.executable, "-c", program, end], check=False, capture_output=True, text=True, timeout=120)
        assert result.stdout == "ready\n", result.stderr
        assert result.returncode == (-signal.SIGKILL if end == "kill" else 0)
        deadline = time.monotonic() + 60
        while set(running()) - before and time.monotonic() < deadline:
            pass
        assert not set(running()) - before


def test_containers_of_a_killed_host_process_are_removed(folder):
    before = set(running())
    with closing(make(folder)) as env:
        env.reset()
        host = env.backend._current._host
        orphans = set(running()) - before
        os.killpg(host.process_id, signal.SIGKILL)
        env.reset()
        assert orphans
        assert not set(running()) & orphans
        assert "Milk" in add(env, "Milk")
        os.killpg(env.backend._current._host.process_id, signal.SIGKILL)
    close_all()
    assert not set(running()) - before


def test_containers_of_killed_processes_are_removed_at_the_next_start(folder):
    before = set(running())
    program = f"""
import os, sys
sys.path.insert(0, {str(Path.cwd())!r})
from tests.test_containers import make
env = make({str(folder)!r})
env.reset()
print(env.backend._current._host.process_id, flush=True)
input()
"""
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        host = int(process.stdout.readline())
        used = set(running()) - before
        remove_orphans()
        assert used
        assert used <= set(running()), "their host process runs"
        os.killpg(host, signal.SIGKILL)
        process.kill()
    orphans = set(running()) - before
    assert used <= orphans, "no process could remove them"
    foreign = engine(
        "run", "--detach", "--network=none", f"--label={LABEL}.owner={'0' * 32}-1-{os.getuid()}-1-1", IMAGE
    ).stdout.strip()
    try:
        with closing(make(folder)) as env:
            env.reset()
            assert not set(running()) & orphans
            shown = engine("ps", "--quiet", "--no-trunc").stdout.split()
            assert foreign in shown, "of another machine, which uses the same engine"
    finally:
        engine("rm", "--force", foreign)


def test_a_container_that_is_not_ready_in_time_is_removed(folder):
    file, before = folder / "webarena-app.toml", set(running())
    file.write_text("start_s = 3\n" + file.read_text().replace("image_port = 8080", "image_port = 8081"))
    with closing(make(folder)) as env:
        with expect_error(ApplicationError, "notes", "port 8081", "image_port"):
            env.reset()
        assert not set(running()) - before


def test_a_missing_image_is_named_with_the_engines_reason(folder):
    file = folder / "webarena-app.toml"
    file.write_text(file.read_text().replace(IMAGE, "webarena-gym-missing:1"))
    message = f"`{Path(find_engine()).name} pull webarena-gym-missing:1` downloads"
    with closing(make(folder)) as env, pytest.raises(ApplicationError, match=message):
        env.reset()


def test_with_a_network_the_port_is_published(folder):
    file = folder / "webarena-app.toml"
    file.write_text("network = true\n" + file.read_text())
    tried = engine("run", "--rm", "--pull=never", "--publish=127.0.0.1::8080", IMAGE, "/bin/ls", "/sys/class/net")
    if not (interfaces := set(tried.stdout.split()) - {"lo"}):
        pytest.skip(f"this system connects no containers: {tried.stderr[-200:]}")
    with closing(make(folder)) as env:
        env.reset()
        assert "Milk" in add(env, "Milk")
        assert interfaces & set(env.network.request("GET", "http://notes.test/cgi-bin/probe").body.decode().split())


@pytest.mark.parametrize(("lines", "values"), [
    ({"image": "x", "command": "y {port}"}, ("wsgi, asgi, command and image",)),
    ({"image": "x"}, ("volume", "in_memory = true")),
    ({"image": "--privileged", "in_memory": True}, ("image", "'--privileged'")),
    ({"image": "x", "volume": "data", "state": "state"}, ("volume", "'data'")),
    ({"image": "x", "volume": "/data:ro", "state": "state"}, ("volume", "'/data:ro'")),
    ({"image": "x", "in_memory": True, "image_port": 70000}, ("image_port", 70000, 65535)),
    ({"image": "x", "volume": "/data"}, ("state", "volume")),
    ({"image": "x", "in_memory": True, "clock": "2024-01-01"}, ("clock", "image")),
    ({"image": "x", "in_memory": True, "load": "true"}, ("load", "image")),
    ({"image": "x", "in_memory": True, "image_port": 0}, ("image_port", 0)),
    ({"image": "x", "in_memory": True, "environment": {"KEY": "a\nb"}}, ("KEY", "line break")),
    ({"image": "x", "in_memory": True, "environment": {"KEY": "a\0"}}, ("KEY", "null character")),
    ({"image": "x", "in_memory": True, "environment": {"A B": "c"}}, ("'A B'",)),
    ({"image": "x", "in_memory": True, "environment": {"": "c"}}, ("''",)),
    ({"command": "y {port}", "volume": "/data"}, ("volume", "'/data'", "image")),
])  # fmt: skip
def test_an_impossible_container_is_refused(lines, values):
    with expect_error(ApplicationError, *values):
        Application(name="notes", **lines)


def test_without_an_engine_the_error_names_both(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("WEBARENA_GYM_CONTAINER_ENGINE", raising=False)
    application = Application(name="notes", image="x", in_memory=True, network=True)
    message = "needs Podman or Docker; there is no podman and no docker in PATH"
    with closing(WebArenaLite(application=application, tasks=[parse_task(TASK)])) as env:
        with pytest.raises(ApplicationError, match=message):
            env.reset()
        monkeypatch.setenv("WEBARENA_GYM_CONTAINER_ENGINE", "ship")
        with expect_error(ApplicationError, "WEBARENA_GYM_CONTAINER_ENGINE", "'ship'", "PATH"):
            env.reset()


def test_the_command_of_a_container_has_its_limits_and_names_no_secret(monkeypatch, tmp_path):
    for name in ("podman", "docker"):
        (tmp_path / name).touch(0o755)
    monkeypatch.delenv("WEBARENA_GYM_CONTAINER_ENGINE", raising=False)
    monkeypatch.setenv("SECRET", "hush")
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy")
    (tmp_path / "state").mkdir()
    (tmp_path / "a" / "1").mkdir(parents=True)
    limits = {"memory": "1M", "processes": 7, "cpu": 2}
    application = Application(
        name="notes",
        image="x",
        image_port=90,
        state=str(tmp_path / "state"),
        volume="/data",
        limits=limits,
        inherits=("SECRET",),
    )
    lines = {}
    for first in ("podman", "docker"):
        monkeypatch.setenv("PATH", str(tmp_path))
        command = container_command(application, tmp_path / "a" / "1", 5000, {"NOTES": "/data", "KEY": "hush"}, os.getpid())
        lines[first] = [word for word in command if not word.startswith("--label=webarena-gym.owner=")]
        (tmp_path / first).unlink()
    assert lines["docker"][1:] == [
        "run", "--rm", "--pull=never", "--stop-timeout=0", "--name=webarena-gym-a-1", "--label=webarena-gym=a", "--hostname=notes.test",
        "--publish=127.0.0.1:5000:90", f"--volume={tmp_path}/a/1/state:/data", "--memory=1048576", "--pids-limit=7", "--cpus=2",
        f"--env-file={tmp_path}/a/1/variables", "--env=SECRET", "x",
    ]  # fmt: skip
    file = tmp_path / "a" / "1" / "variables"
    assert (file.read_text(), file.stat().st_mode & 0o777) == ("NOTES=/data\nKEY=hush\n", 0o600)
    assert [word + ":U,Z" if "--volume" in word else word for word in lines["docker"]][1:] == lines["podman"][1:]
    assert "HTTPS_PROXY" not in engine_variables()
    assert engine_variables(("HTTPS_PROXY",))["HTTPS_PROXY"] == "http://proxy"
    (tmp_path / "docker").touch(0o755)
    assert "--network=none" in container_command(application, tmp_path / "a" / "1", 0, {}, os.getpid())


@pytest.mark.skipif(not os.geteuid(), reason="root can read all files")
def test_a_volume_that_this_user_cannot_read_is_refused(folder):
    before = set(copies_folder().iterdir())
    engine("create", "--name=webarena-gym-user", IMAGE)
    engine("commit", "--change", "USER 1000", "webarena-gym-user", "webarena-gym-user:1")
    engine("rm", "webarena-gym-user")
    file = folder / "webarena-app.toml"
    file.write_text(file.read_text().replace(IMAGE, "webarena-gym-user:1"))
    (folder / "state" / "notes.txt").chmod(0o600)
    with closing(make(folder)) as env, pytest.raises(ApplicationError, match="makes another user the owner of"):
        env.reset()
    engine("rmi", "--force", "webarena-gym-user:1")
    close_all()
    assert set(copies_folder().iterdir()) == before, "Podman removes its files"


@pytest.mark.parametrize(("line", "is_ignored"), [
    ("Resource limits are not supported and ignored on cgroups V1 rootless systems", True),
    ("WARNING: Your kernel does not support pids limit capabilities or the cgroup is not mounted. PIDs limit discarded.", True),
    ("WARNING: Your kernel does not support swap limit capabilities. Memory limited without swap.", False),
])  # fmt: skip
def test_ignored_limits_are_found_in_the_log(line, is_ignored, tmp_path):
    (tmp_path / "log").write_text(f"time=1\n{line}\nready\n")
    assert ignored_limits(tmp_path / "log") == (line if is_ignored else "")


@pytest.mark.skipif(CAN_LIMIT, reason="limits have an effect here")
def test_limits_without_effect_are_refused(folder):
    file = folder / "webarena-app.toml"
    file.write_text(file.read_text() + '[limits]\nmemory = "64M"\n')
    with closing(make(folder)) as env, pytest.raises(ApplicationError, match="limits have no effect on the container of notes"):
        env.reset()


def test_an_archive_with_an_image_needs_trust(folder):
    application = read_application(folder)
    assert any("starts in a container, by your container engine" in line for line in grants_of(application, folder))
