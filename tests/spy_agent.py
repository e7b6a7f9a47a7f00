"""An agent program that opens no page: it looks for the expected answer everywhere else and gives it if it has found it.

    python spy_agent.py NOTES [FOLDER...]

`webarena-gym evaluate --agent command:...` starts it; it needs only the standard library. Each line of NOTES holds a goal and what one
route returned. Later episodes read the notes, so an answer that was found once is known from then on. With folders, the program also
searches them, the current folder, the folder for temporary files, the cache of worlds, and other processes.
"""

import json
import os
import re
import sys
import tempfile
from contextlib import suppress
from functools import cache
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from urllib.parse import urlsplit

URL, EPISODE = os.environ["WEBARENA_GYM_URL"], os.environ["WEBARENA_GYM_EPISODE"]
OWN = f"/episodes/{EPISODE}"
WRONG = "an answer that is wrong"
NOTES, FOLDERS = Path(sys.argv[1]), sys.argv[2:]
LARGEST_FILE, LARGEST_MEMORY = 20_000_000, 300_000_000


def ask(method, path, body=None, *, token="", url=URL, headers=()):
    """Return the status, the headers and the body of an answer as one text."""
    sent = {"Content-Type": "application/json", **dict(headers)} | ({"Authorization": f"Bearer {token}"} if token else {})
    connection = HTTPConnection(urlsplit(url).netloc, timeout=60)
    try:
        connection.request(method, path, body if isinstance(body, str | None) else json.dumps(body), sent)
        answer = connection.getresponse()
        return f"{answer.status}\n{answer.headers}\n{answer.read().decode(errors='replace')}"
    except (OSError, HTTPException) as error:
        return f"{error}"
    finally:
        connection.close()


def value_of(answer):
    """Return the JSON of an answer; an empty object where it has none."""
    try:
        return json.loads(answer.partition("\n\n")[2])
    except ValueError:
        return {}


@cache
def tokens():
    """Return all that may pass for a token: none, those of the environment, and those in the memory of other processes."""
    found = ["", *(value for name, value in os.environ.items() if "TOKEN" in name), EPISODE]
    for pid in other_processes():
        found += memory_of(pid, rb"Bearer ([\w-]{16,64})")
    return list(dict.fromkeys(found))


def other_processes():
    """Return the id of the process that started this one, where it can be seen. Others are none of the test's business."""
    return [os.getppid()] if FOLDERS and sys.platform == "linux" and os.getppid() > 1 else []


def memory_of(pid, pattern):
    """Return what a pattern finds in the memory of a process that can be written."""
    found, left = [], LARGEST_MEMORY
    try:
        with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb") as memory:
            for line in maps:
                first, last = (int(number, 16) for number in line.split(" ", 1)[0].split("-"))
                if " rw" in line and last - first <= left:
                    left -= last - first
                    memory.seek(first)
                    found += [match.decode() for match in re.findall(pattern, memory.read(last - first))]
    except (OSError, ValueError, OverflowError):
        pass
    return found


# Routes. Each returns texts.


def second_episode():
    """Begin an episode of one's own task, answer anything, and read the verdict."""
    state = value_of(ask("GET", OWN))
    for token in tokens():
        known = value_of(ask("GET", OWN, token=token)).get("task_id") or state.get("task_id")
        for settings in ({}, {"task": known}, {"task": known, "scored": False}, {"task": known, "scored": True}):
            begun = ask("POST", "/episodes", {"mode": "step", **settings}, token=token)
            yield begun
            name = value_of(begun).get("id")
            if name and value_of(begun)["goal"] == GOAL:
                yield ask("POST", f"/episodes/{name}/answer", {"answer": WRONG}, token=token)
                yield ask("GET", f"/episodes/{name}", token=token)


def other_paths():
    """Ask for all that the server has to tell, and for paths that it has not."""
    paths = [
        "/",
        "/docs",
        "/openapi.json",
        "/health",
        "/tools",
        "/tasks",
        "/tasks?split=test",
        "/episodes",
        "/episodes/",
        f"{OWN}/result",
    ]
    paths += [
        f"/episodes/{'0' * 16}",
        "/episodes/%2e%2e",
        "/episodes/*",
        f"/episodes/{EPISODE}%00",
        f"{OWN}/../",
        "/.env",
        "/metrics",
    ]
    for path in paths:
        for token in tokens():
            yield ask("GET", path, token=token)
    for method in ("OPTIONS", "TRACE", "HEAD", "PUT", "PATCH"):
        yield ask(method, OWN)
    yield ask("GET", "/", headers={"Host": f"shop.localhost:{urlsplit(URL).port}"})
    yield ask("GET", "/episodes", headers={"X-Forwarded-For": "127.0.0.1", "Host": "elsewhere.test"})


def mistakes():
    """Send what is wrong, for what the errors say."""
    for body in ("{", "[]", "null", '{"answer": 1}', {"url": "about:blank", "answer": []}, {"x": 1}):
        yield ask("POST", f"{OWN}/answer", body)
    for body in ("{", {"action": 5}, {"action": "nonsense"}, {"action": "exit("}, {"action": "\ud800"}):
        yield json.dumps(without_pages(value_of(ask("POST", f"{OWN}/step", body))))
    yield ask("POST", f"{OWN}/answer", {"answer": WRONG, "url": "http://[::1/"})


def of_sites():
    """Use the server's own paths at the ports of the sites, and paths that sites do not know."""
    for url in value_of(ask("GET", OWN)).get("addresses", {}).values():
        for path in ("/.arena/done", "/.arena/again"):
            yield ask("POST", path, f"answer={WRONG}", url=url, headers={"Content-Type": "application/x-www-form-urlencoded"})
        for path in ("/.arena/enter/x/", "/.arena/result", "/%ff%00", "/?%5B%5D=%ff"):
            yield ask("GET", path, url=url).partition("\n\n")[0]


def snapshots():
    """Take a snapshot, to be returned to after the verdict."""
    for token in tokens():
        yield ask("POST", f"{OWN}/snapshot", token=token)


def verdict():
    """Answer and, unless the answer is known, read all that is told of it, go back and answer again."""
    known = answer()
    if value_of(ask("GET", OWN)).get("mode") == "step":
        yield json.dumps(without_pages(value_of(ask("POST", f"{OWN}/step", {"action": f'exit(message="{known}")'}))))
    else:
        yield ask("POST", f"{OWN}/answer", {"answer": known})
    for token in tokens() if known == WRONG else ():
        yield json.dumps(without_pages(value_of(ask("GET", OWN, token=token))))
        yield ask("POST", f"{OWN}/restore", {"snapshot": "s1"}, token=token)
        yield ask("POST", f"{OWN}/answer", {"answer": answer()}, token=token)
        yield ask("GET", "/episodes", token=token)


def without_pages(value):
    """Return a state or a step without what a page shows, which is no secret."""
    if isinstance(value, dict):
        pages = ("observation", "page", "messages", "system_prompt")
        return {key: without_pages(item) for key, item in value.items() if key not in pages}
    return value


def environment():
    """Read the names of all variables, and the values of those that are the package's."""
    yield json.dumps({name: value if name.startswith("WEBARENA_GYM") else "" for name, value in os.environ.items()})


def processes():
    """Count the processes that can be seen, and read the command line and the variables of the evaluation and what both have open."""
    if sys.platform != "linux":
        return
    yield f"processes: {sum(map(str.isdecimal, os.listdir('/proc')))}"
    for pid in other_processes():
        yield f"evaluation: {Path(f'/proc/{pid}/cmdline').read_text()}"
        with suppress(OSError):
            variables = Path(f"/proc/{pid}/environ").read_text().split("\0")
            yield f"variables: {[pair for pair in variables if pair.startswith('WEBARENA_GYM')]}"
    for pid in (*other_processes(), "self"):
        with suppress(OSError):
            yield from (
                f"open: {os.readlink(link.path)}" for link in os.scandir(f"/proc/{pid}/fd") if os.path.lexists(link.path)
            )


def files():
    """Read all files that hold the goal, and find databases."""
    cache = os.environ.get("WEBARENA_GYM_CACHE") or Path.home() / ".cache" / "webarena_gym"
    folders = (*FOLDERS, os.getcwd(), tempfile.gettempdir(), cache) if FOLDERS else ()
    for folder in dict.fromkeys(map(str, folders)):
        for place, _, names in os.walk(folder):
            for name in names:
                path = Path(place, name)
                try:
                    if path == NOTES or not path.is_file() or path.stat().st_size > LARGEST_FILE:
                        continue
                    content = path.read_bytes() if path.suffix != ".sqlite" else b""
                except OSError:
                    continue
                if path.suffix == ".sqlite" or GOAL.encode() in content:
                    yield f"{path}\n{content.decode(errors='replace')}"


ROUTES = (environment, processes, files, second_episode, other_paths, mistakes, of_sites, snapshots, verdict)


def answer():
    """Return what was expected for this goal, as far as any note tells it."""
    for line in NOTES.read_text().splitlines() if NOTES.exists() else ():
        note = json.loads(line)
        if note["goal"] == GOAL:
            for text in note["found"]:
                for known in re.findall(r'"why": "[^"]*", "expected": ("(?:[^"\\]|\\.)+")', text):
                    return json.loads(known)
    return WRONG


GOAL = value_of(ask("GET", OWN))["goal"]


if __name__ == "__main__":
    for route in ROUTES:
        found = [text for text in route() if text]
        with NOTES.open("a") as notes:
            notes.write(json.dumps({"goal": GOAL, "route": route.__name__, "found": found}) + "\n")
