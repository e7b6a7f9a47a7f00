"""The progress bar, on a terminal and elsewhere."""

from webarena_gym.progress import Progress


def test_progress_is_drawn_on_a_terminal_with_the_time_that_is_left(capsys, monkeypatch):
    now = [0.0]
    monkeypatch.setattr("webarena_gym.progress.time.perf_counter", lambda: now[0])
    bar = Progress(4, "things")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    bar.update(1)  # of an earlier run
    assert capsys.readouterr().err.endswith(f"[{'#' * 7}{'.' * 23}] 1/4 things")
    now[0] = 3700.0
    bar.update(2)
    assert capsys.readouterr().err.endswith("] 2/4 things, 2:03:20 left")
    bar.update(4)
    assert capsys.readouterr().err.endswith("] 4/4 things")
    bar.clear()
    assert "things" not in capsys.readouterr().err


def test_progress_is_a_line_now_and_then_where_there_is_no_terminal(capsys, monkeypatch):
    now = [0.0]
    monkeypatch.setattr("webarena_gym.progress.time.perf_counter", lambda: now[0])
    bar = Progress(10, "things")
    for done in range(10):
        bar.update(done)
        now[0] += 30.0
    bar.clear()
    lines = capsys.readouterr().err.split("\n")
    assert lines == [f"{done}/10 things, {(10 - done) // 2}:{30 * (done % 2):02} left" for done in range(1, 10)] + [""]


def test_lines_are_fifteen_seconds_apart(capsys, monkeypatch):
    now = [0.0]
    monkeypatch.setattr("webarena_gym.progress.time.perf_counter", lambda: now[0])
    bar = Progress(10, "things")
    for done in range(10):
        now[0] = 100.0 + 5 * done
        bar.update(done)
    assert [line.split("/")[0] for line in capsys.readouterr().err.splitlines()] == ["0", "3", "6", "9"]
