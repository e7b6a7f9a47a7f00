"""Conformance checks for your own envs, wrappers, vector envs, browsers and backends.

A check returns None if the implementation conforms. Otherwise it raises ConformanceError, an AssertionError, with the expected and the
actual value. So it is one line of a test:

    from webarena_gym.testing import check_env

    def test_my_wrapper_is_still_an_env():
        check_env(MyWrapper(gymnasium.make("WebArenaLite-v0", split="test")))

The checks need no test framework. They do not close the env or backend that they receive.
"""

import pickle
from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_type_hints

import gymnasium
import numpy
from gymnasium.error import ResetNeeded

from webarena_gym.backends.base import Backend
from webarena_gym.browsers.base import Browser
from webarena_gym.episode import Info
from webarena_gym.errors import ActionError, BrowserError, ConformanceError, SnapshotError
from webarena_gym.observation import observe
from webarena_gym.pages.page import Network
from webarena_gym.tasks import Task

MALFORMED = "This is no action."
_REQUIRED_KEYS = tuple(key for key in get_type_hints(Info) if key in Info.__required_keys__)
_FINAL_REWARDS = (0.0, 1.0)


def _expect(condition: bool, problem: str) -> None:
    if not condition:
        raise ConformanceError(problem)


def _expect_equal(name: str, expected: object, actual: object) -> None:
    if not _is_equal(expected, actual):
        raise ConformanceError(f"{name}: expected {str(expected)[:500]!r}, got {str(actual)[:500]!r}")


def _is_equal(first: object, second: object) -> bool:
    """Return True if two values are equal. NaN equals NaN, and arrays are compared by value."""
    if isinstance(first, numpy.ndarray) or isinstance(second, numpy.ndarray):
        return _is_equal(numpy.asarray(first).tolist(), numpy.asarray(second).tolist())
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(_is_equal(first[key], second[key]) for key in first)
    if isinstance(first, list | tuple) and isinstance(second, list | tuple):
        return len(first) == len(second) and all(map(_is_equal, first, second))
    return bool(first == second) or (first != first and second != second)  # noqa: PLR0124 - only NaN differs from itself


def _expect_raises(call: str, exception: type[Exception], act: Callable[[], Any]) -> None:
    try:
        act()
    except exception:
        return
    raise ConformanceError(f"{call} must raise {exception.__name__}")


def _pickle_round_trip(snapshot: object) -> Any:
    return pickle.loads(pickle.dumps(snapshot))  # noqa: S301 - bytes of this process


# Envs.


def check_env(env: gymnasium.Env[str, str], *, seed: int = 7, actions: Sequence[str] | None = None) -> None:
    """Check an env against the contract of `WebArenaLite-v0`.

    The check resets the env several times and steps it about thirty times. It covers the spaces, the info, equal episodes for equal
    seeds, malformed actions, the end of an episode, errors, and snapshots if the env supports them.

    Args:
        env: the env.
        seed: seed of the episodes.
        actions: replies that do not end an episode; by default samples of the action space.

    Raises:
        ConformanceError: if the env does not conform.

    """
    _expect(
        isinstance(env.observation_space, gymnasium.spaces.Text), f"observation_space is {env.observation_space}, not a Text"
    )
    replies = list(actions or ())
    if actions is None:  # samples of the action space that do not end the episode
        env.action_space.seed(seed)
        env.reset(seed=seed)
        for _ in range(8):
            reply = env.action_space.sample()
            _, _, terminated, truncated, _ = env.step(reply)
            if terminated or truncated:
                env.reset(seed=seed)
                for earlier in replies:
                    env.step(earlier)
            else:
                replies.append(reply)
    first = _reset(env, seed)
    steps = [_step(env, reply) for reply in replies]
    _expect_equal("the observation and info of a second reset with the same seed", first, _reset(env, seed))
    _expect_equal("the results of the same actions after it", steps, [_step(env, reply) for reply in replies])

    _reset(env, seed)
    step = _step(env, MALFORMED)
    _expect(bool(step[4]["action_error"]), "info['action_error'] must describe the error of a malformed action")
    _expect(not step[2], "a malformed action must not end the episode")
    _expect_raises("step() with a reply that is not a str", TypeError, lambda: env.step(7))  # type: ignore[arg-type]

    _check_end(env, seed)
    if hasattr(env.unwrapped, "snapshot"):
        _check_snapshots(env, seed, replies)


def _reset(env: gymnasium.Env[str, str], seed: int) -> tuple[str, dict[str, Any]]:
    observation, info = env.reset(seed=seed)
    _check_observation(env, observation, info)
    _expect_equal("info['step'] after reset", 0, info["step"])
    return observation, dict(info)


def _step(env: gymnasium.Env[str, str], reply: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
    observation, reward, terminated, truncated, info = env.step(reply)
    _check_observation(env, observation, info)
    _expect(type(terminated) is bool and type(truncated) is bool, "terminated and truncated must be bools")
    _expect(isinstance(reward, float), f"a reward must be a float, got {reward!r}")
    if not (terminated or truncated):
        _expect_equal("the reward before the end", 0.0, reward)
        _expect("success" not in info, "info['success'] must be present only at the end of an episode")
    return observation, float(reward), terminated, truncated, dict(info)


def _check_observation(env: gymnasium.Env[str, str], observation: object, info: Mapping[str, Any]) -> None:
    _expect(env.observation_space.contains(observation), f"the observation {str(observation)[:200]!r} is not in its space")
    for key in _REQUIRED_KEYS:
        _expect(key in info, f"info has no {key!r}; expected {', '.join(_REQUIRED_KEYS)}")
    for key in ("goal", "url", "page", "action_error", "task_id"):
        _expect(isinstance(info[key], str), f"info[{key!r}] is {info[key]!r}; expected a str")
    for message in info["messages"]:
        _expect(message.keys() == {"role", "content"}, f"a message is {message!r}; expected a role and a content")


def _check_end(env: gymnasium.Env[str, str], seed: int) -> None:
    """Check the last step: send malformed actions until the step limit truncates the episode."""
    _reset(env, seed)
    for _ in range(1000):
        result = _step(env, MALFORMED)
        if result[2] or result[3]:
            break
    else:
        raise ConformanceError("an episode of 1,000 malformed actions was neither terminated nor truncated")
    info = result[4]
    _expect(result[1] in _FINAL_REWARDS, f"the reward at the end is {result[1]!r}; expected 0.0 or 1.0")
    _expect_equal("info['success'] at the end", result[1] == 1.0, info.get("success"))
    _expect(bool(info.get("verdicts")), "info['verdicts'] must contain the results of the checks at the end")
    _expect_raises("step() after the end of an episode", ResetNeeded, lambda: env.step(MALFORMED))


def _check_snapshots(env: gymnasium.Env[str, str], seed: int, replies: Sequence[str]) -> None:
    """Check that an episode continues identically from a pickled snapshot, any number of times."""
    base_env: Any = env.unwrapped
    _reset(env, seed)
    half = len(replies) // 2
    for reply in replies[:half]:
        env.step(reply)
    try:
        snapshot = _pickle_round_trip(base_env.snapshot())
    except SnapshotError:
        return  # the state of real servers cannot be restored
    steps = [base_env.step(reply) for reply in replies[half:]]
    for _ in range(2):
        observation, _ = base_env.restore(snapshot)
        _expect(base_env.observation_space.contains(observation), "the observation of restore() is not in its space")
        _expect_equal("the steps after a restored snapshot", steps, [base_env.step(reply) for reply in replies[half:]])
    _expect_raises("restore(None)", SnapshotError, lambda: base_env.restore(None))


# Vector envs.


def check_vector_env(
    envs: gymnasium.vector.VectorEnv[Any, Any, Any], *, seed: int = 7, actions: Sequence[Sequence[str]] | None = None
) -> None:
    """Check a vector env of text envs against Gymnasium's API.

    The check covers the shapes and types of the results of `reset` and `step`, the spaces, the masks of the infos, and equal batches for
    equal seeds.

    Args:
        envs: the vector env.
        seed: seed of the episodes.
        actions: for every step, one reply for each env; by default four malformed replies.

    Raises:
        ConformanceError: if the vector env does not conform.

    """
    count = envs.num_envs
    steps = [[MALFORMED] * count] * 4 if actions is None else actions

    def play() -> list[Any]:
        observations, infos = envs.reset(seed=seed)
        _check_columns(envs, observations, infos)
        results: list[Any] = [(tuple(observations), infos)]
        for replies in steps:
            observations, rewards, terminated, truncated, infos = envs.step(tuple(replies))
            _check_columns(envs, observations, infos)
            for name, column, kind in (
                ("rewards", rewards, numpy.floating),
                ("terminations", terminated, numpy.bool_),
                ("truncations", truncated, numpy.bool_),
            ):
                _expect(
                    isinstance(column, numpy.ndarray) and column.shape == (count,) and issubclass(column.dtype.type, kind),
                    f"{name} are {column!r}; expected an array of {count} of the type {kind.__name__}",
                )
            results.append((tuple(observations), rewards, terminated, truncated, infos))
        return results

    _expect_equal("the batches of a second run with the same seed and actions", play(), play())
    untyped: Any = envs  # Gymnasium's vector envs also accept one seed for each env, which the annotation lacks
    observations = set(untyped.reset(seed=[seed] * count)[0])
    _expect(
        len(observations) == 1,
        f"envs with the same seed must return the same first observation, got {len(observations)} different ones",
    )


def _check_columns(
    envs: gymnasium.vector.VectorEnv[Any, Any, Any], observations: Sequence[object], infos: dict[str, Any]
) -> None:
    _expect(len(observations) == envs.num_envs, f"there are {len(observations)} observations of {envs.num_envs} envs")
    for observation in observations:
        _expect(envs.single_observation_space.contains(observation), f"{str(observation)[:200]!r} is not in its space")
    for key in _REQUIRED_KEYS:
        _expect(key in infos and f"_{key}" in infos, f"infos has no {key!r} with its mask '_{key}'")
        _expect(len(infos[key]) == envs.num_envs, f"infos[{key!r}] has {len(infos[key])} entries of {envs.num_envs} envs")


# Browsers.

HOME = "http://home.test/"
_ITEMS = "".join(f"<li>Item {number}" for number in range(3))
_PAGES = {
    "/": "<title>Home</title><h1>Home</h1><a href=/form>To the form</a> <a href=/list target=_blank>List in a tab</a>"
    "<a href=http://nowhere.test/>Elsewhere</a><p hidden><a href=/form>Hidden link</a></p>",
    "/form": "<title>Form</title><form action=/sent method=post><label>Name <input name=name></label>"
    "<label><input type=checkbox name=news value=yes> News</label>"
    "<label>Size <select name=size><option>Small<option>Large</select></label><button disabled>Off</button><button>Send</button></form>",
    "/list": f"<title>List</title><ul>{_ITEMS}</ul>",
}


def _site(environ: dict[str, Any], start_response: Callable[..., Any]) -> Sequence[bytes]:
    body = _PAGES.get(environ["PATH_INFO"], "<title>None</title><p>No such page")
    if environ["PATH_INFO"] == "/sent":
        fields = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0)).decode()
        body = f"<title>Sent</title><p>{environ['REQUEST_METHOD']} {fields.replace('&', ' and ')}</p>"
    start_response("200 OK", [("Content-Type", "text/html; charset=utf-8")])
    return [f"<!doctype html>{body}".encode()]


def check_browser(make_browser: Callable[[Network], Browser]) -> None:
    """Check a browser against the Protocol `webarena_gym.browsers.Browser`.

    The check covers pages and titles, links, forms, tabs, the history, unreachable hosts, errors, and snapshots.

    Args:
        make_browser: function of a network that returns a browser with access to the sites of the network only.

    Raises:
        ConformanceError: if the browser does not conform.

    """
    browser = make_browser(Network({"home.test": _site}))

    def element(label: str) -> Any:
        return observe(browser.page(), elements="label").element(label)

    def expect_title(name: str, expected: str) -> None:
        _expect_equal(name, expected, browser.page().title)

    try:
        _expect_raises("page() before start()", BrowserError, browser.page)
        browser.start([HOME], {})
        _expect_equal("the URL of the first page", HOME, browser.page().url)
        expect_title("its title", "Home")
        _expect_raises("clicking a hidden element", ActionError, lambda: browser.click(browser.page().root.find(".//p/a")))
        browser.click(element("To the form"))
        expect_title("the title of the target page of a link", "Form")

        _expect_raises("pressing a disabled button", ActionError, lambda: browser.click(element("Off")))
        _expect_raises("typing into a button", ActionError, lambda: browser.type(element("Send"), "x"))
        _expect_raises("selecting an option that does not exist", ActionError, lambda: browser.select(element("Size"), "Huge"))
        browser.type(element("Name"), "Ann")
        browser.click(element("News"))
        browser.select(element("Size"), "Large")
        browser.click(element("Send"))
        _expect_equal("the request of a form", "POST name=Ann and news=yes and size=Large", _text(browser))
        browser.go_back()
        expect_title("the title of the previous page", "Form")
        _expect('value="Ann"' in _text(browser), "the history must keep the values of form fields")
        browser.go_forward()
        expect_title("the title of the next page", "Sent")
        _expect_raises("going forward from the last page", ActionError, browser.go_forward)

        browser.goto(HOME)
        browser.click(element("List in a tab"))
        _expect_equal("the tabs after a link that opens one", ("Home", "List"), tuple(tab.title for tab in browser.page().tabs))
        _expect_equal("the active tab", 1, browser.page().active_tab)
        browser.switch_tab(0)
        expect_title("the page of the first tab", "Home")
        _expect_raises("switching to a tab that does not exist", ActionError, lambda: browser.switch_tab(2))
        browser.switch_tab(1)
        browser.close_tab()
        _expect_equal("the tabs after one was closed", 1, len(browser.page().tabs))

        browser.goto("http://nowhere.test/")
        _expect(
            browser.has_failed,
            "for a host outside the network, the browser must show an error page, and has_failed must be True",
        )
        browser.goto(f"{HOME}form")
        browser.type(element("Name"), "Bo")
        text, snapshot = _text(browser), _pickle_round_trip(browser.snapshot())
        browser.goto(f"{HOME}list")
        browser.restore(snapshot)
        _expect_equal("the page of a restored snapshot", text, _text(browser))
        _expect_raises("restore(None)", SnapshotError, lambda: browser.restore(None))
        browser.close()
        _expect_raises("page() after close()", BrowserError, browser.page)
    finally:
        browser.close()


def _text(browser: Browser) -> str:
    return observe(browser.page(), header=False).text


# Backends.


def check_backend(backend: Backend, task: Task) -> None:
    """Check a backend against `webarena_gym.backends.base.Backend`.

    The check covers access to the browser before and after `enter`, the same start of a task every time (also after `discard_browser` and
    `close`), the error for unknown databases, and snapshots if the backend supports them.

    Args:
        backend: the backend, before its first `enter`.
        task: a task of its sites.

    Raises:
        ConformanceError: if the backend does not conform.

    """
    _expect_raises("the browser before enter()", LookupError, lambda: backend.browser)
    goal = backend.enter(task)
    _expect(bool(goal), "enter() must return the goal for the agent")
    for placeholder in backend.urls:
        _expect(placeholder.startswith("__") and placeholder.endswith("__"), f"urls has {placeholder!r}; expected __NAME__")
    start = _text(backend.browser)
    _expect_raises("database() of an unknown site", KeyError, lambda: backend.database("nowhere"))
    try:
        snapshot = _pickle_round_trip(backend.snapshot())
    except SnapshotError:
        pass  # the backend does not support snapshots
    else:
        backend.browser.new_tab()
        backend.restore(snapshot)
        _expect_equal("the page of a restored snapshot", start, _text(backend.browser))
        _expect_raises("restore(None)", SnapshotError, lambda: backend.restore(None))
    for method in ("enter", "discard_browser", "close"):
        if method != "enter":
            getattr(backend, method)()
        _expect_equal("the goal of the same task", goal, backend.enter(task))
        _expect_equal("the start page of the same task", start, _text(backend.browser))
