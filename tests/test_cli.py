"""The command line: lists, audits, plays and serves, and says what is wrong with its input."""

import json

import pytest

from webarena_gym.cli import main
from webarena_gym.serve import Front
from webarena_gym.tasks import load, read_tasks


def run(capsys, *arguments):
    status = main(arguments)
    output = capsys.readouterr()
    return status, output.out, output.err


def test_tasks_are_listed_counted_and_exported(capsys, tmp_path):
    status, out, _ = run(capsys, "tasks")
    assert (0, len(load("test"))) == (status, len(out.splitlines()))
    _, out, _ = run(capsys, "tasks", "--split", "all", "--stats")
    assert out.startswith(f"{len(load('test')) + len(load('train'))} tasks of ")
    path = tmp_path / "tasks.json"
    name = load("test")[0].template
    assert run(capsys, "tasks", "--draw", "2", "--world-seed", "5", "--template", name, "--export", str(path))[0] == 0
    assert [name, name] == [task.template for task in read_tasks(path)]


def test_the_audit_ends_with_one_line_of_json(capsys):
    name = load("test")[0].template
    status, out, _ = run(capsys, "audit", "--json", "--worlds", "1", "--template", name)
    result = json.loads(out.splitlines()[-1])
    assert status == 0
    assert {"tasks", "solved", "noop_rewarded", "exit_rewarded", "wrong_rewarded", "browser", "world_seed", "seconds"} == set(
        result
    )
    assert (result["tasks"], result["solved"], result["wrong_rewarded"]) == (2, 2, 0)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["tasks", "--draw", "2"], "--draw needs --world-seed"),
        (["tasks", "--template", "nothing"], "no template 'nothing'"),
        (["play", "nothing/1/0"], "no task 'nothing/1/0'"),
        (["play", "--split", "validation"], "no split 'validation'"),
    ],
)
def test_bad_input_is_explained(capsys, arguments, said):
    status, _, err = run(capsys, *arguments)
    assert status == 2
    assert said in err


def test_an_unknown_command_is_refused(capsys):
    with pytest.raises(SystemExit) as caught:
        main(["fly"])
    assert caught.value.code == 2
    assert "invalid choice" in capsys.readouterr().err


def test_a_person_can_play(capsys, monkeypatch):
    replies = iter(["hello", 'exit(message="wrong")'])
    monkeypatch.setattr("builtins.input", lambda _: next(replies))
    status, out, _ = run(capsys, "play", load("test")[0].task_id)
    assert status == 0
    assert "Action error: the reply holds no action" in out
    assert "reward 0" in out


def test_leaving_the_game_is_no_error(capsys, monkeypatch):
    def closed(_):
        raise EOFError

    monkeypatch.setattr("builtins.input", closed)
    assert run(capsys, "play", "--seed", "3")[0] == 0


def test_worlds_are_described(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("WEBARENA_GYM_CACHE", str(tmp_path))
    status, out, _ = run(capsys, "world", "12345")
    assert status == 0
    assert "product" in out
    assert str(tmp_path) in out


def ask(front, host, path="/", cookie=""):
    answer = []
    body = front(
        {
            "HTTP_HOST": host,
            "PATH_INFO": path,
            "REQUEST_METHOD": "GET",
            "HTTP_COOKIE": cookie,
            "SERVER_NAME": "x",
            "SERVER_PORT": "80",
            "wsgi.url_scheme": "http",
        },
        lambda *start: answer.extend(start),
    )
    return answer[0], dict(answer[1]), b"".join(body).decode()


def test_the_server_tells_sites_by_host_and_signs_visitors_in():
    front = Front(0)
    status, headers, page = ask(front, "shop.localhost:8000", "/customer/account/")
    assert status == "200 OK"
    assert "My Account" in page
    cookie = headers["Set-Cookie"].partition(";")[0]
    assert "Set-Cookie" not in ask(front, "shop.localhost:8000", cookie=cookie)[1]
    assert ask(front, "shop-admin.localhost:8000", "/admin/sales/order/")[0] == "200 OK"
    assert ask(front, "localhost:8000")[0].startswith("404")
