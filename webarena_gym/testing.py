"""Conformance checks of envs, vector envs, browsers and backends, to be run on implementations of one's own.

A check returns nothing when all is as it should be, and raises ConformanceError, which is an AssertionError, with what was expected
and what was found. So it is one line of a test:

    from webarena_gym.testing import check_env

    def test_my_wrapper_is_still_an_env():
        check_env(MyWrapper(gymnasium.make("WebArenaLite-v0", split="test")))

No check needs a test framework. Each leaves the thing it was given open: whoever made it closes it.
"""

import pickle
from collections.abc import Callable, Sequence
from typing import Any, get_type_hints

import gymnasium
import numpy
from gymnasium.error import ResetNeeded

from webarena_gym.backends.base import Backend
from webarena_gym.browsers.base import Browser
from webarena_gym.env import Info
from webarena_gym.errors import ActionError, BrowserError, ConformanceError, SnapshotError
from webarena_gym.observation import observe
from webarena_gym.pages.page import Network
from webarena_gym.tasks import Task

MALFORMED = "This is no action."
_ALWAYS = tuple(key for key in get_type_hints(Info) if key in Info.__required_keys__)
_ENDINGS = (0.0, 1.0)


def _expect(is_so: bool, problem: str) -> None:
    if not is_so:
        raise ConformanceError(problem)


def _expect_equal(what: str, expected: Any, found: Any) -> None:
    if not _same(expected, found):
        raise ConformanceError(f"{what}: expected {str(expected)[:500]!r}, found {str(found)[:500]!r}")


def _same(one: Any, other: Any) -> bool:
    """Say whether two values are equal; NaN is equal to NaN, and arrays are by what is in them."""
    if isinstance(one, numpy.ndarray) or isinstance(other, numpy.ndarray):
        return _same(numpy.asarray(one).tolist(), numpy.asarray(other).tolist())
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other) or (one != one and other != other)  # noqa: PLR0124 - only NaN differs from itself


def _expect_raised(what: str, kind: type[Exception], act: Callable[[], Any]) -> None:
    try:
        act()
    except kind:
        return
    raise ConformanceError(f"{what} must raise {kind.__name__}")


def _travelled(snapshot: Any) -> Any:
    return pickle.loads(pickle.dumps(snapshot))  # noqa: S301 - our own bytes


# Envs.


def check_env(env: gymnasium.Env[str, str], *, seed: int = 7, actions: Sequence[str] | None = None) -> None:
    """Check an env against the contract of `WebArenaLite-v0`. Raises ConformanceError.

    It is reset several times and stepped some thirty times. `actions` are replies that do not end an episode; by default samples of
    the action space without exits. Checked are the spaces, the info, equal episodes for equal seeds, what a malformed action does,
    how an episode ends, what is refused, and snapshots where the env can take them.
    """
    _expect(
        isinstance(env.observation_space, gymnasium.spaces.Text), f"observation_space is {env.observation_space}, not a Text"
    )
    replies = list(actions or ())
    if actions is None:  # samples of the action space that leave the episode going
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
    first = _begin(env, seed)
    played = [_step(env, reply) for reply in replies]
    _expect_equal("the observation and info of a second reset with the same seed", first, _begin(env, seed))
    _expect_equal("what the same actions lead to after it", played, [_step(env, reply) for reply in replies])

    _begin(env, seed)
    told = _step(env, MALFORMED)
    _expect(bool(told[4]["action_error"]), "a malformed action must be told in info['action_error']")
    _expect(not told[2], "a malformed action must not end the episode")
    _expect_raised("a reply that is no text", TypeError, lambda: env.step(7))  # type: ignore[arg-type]

    _check_end(env, seed)
    if hasattr(env.unwrapped, "snapshot"):
        _check_snapshots(env, seed, replies)


def _begin(env: gymnasium.Env[str, str], seed: int) -> tuple[str, dict[str, Any]]:
    observation, info = env.reset(seed=seed)
    _check_told(env, observation, info)
    _expect_equal("info['step'] after reset", 0, info["step"])
    return observation, dict(info)


def _step(env: gymnasium.Env[str, str], reply: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
    observation, reward, terminated, truncated, info = env.step(reply)
    _check_told(env, observation, info)
    _expect(type(terminated) is bool and type(truncated) is bool, "terminated and truncated must be bools")
    _expect(isinstance(reward, float), f"a reward must be a float, found {reward!r}")
    if not (terminated or truncated):
        _expect_equal("the reward before the end", 0.0, reward)
        _expect("success" not in info, "info['success'] must come at the end of an episode alone")
    return observation, float(reward), terminated, truncated, dict(info)


def _check_told(env: gymnasium.Env[str, str], observation: Any, info: Any) -> None:
    _expect(env.observation_space.contains(observation), f"the observation {str(observation)[:200]!r} is not in its space")
    for key in _ALWAYS:
        _expect(key in info, f"info has no {key!r}; expected {', '.join(_ALWAYS)}")
    for key in ("goal", "url", "page", "action_error", "task_id"):
        _expect(isinstance(info[key], str), f"info[{key!r}] is {info[key]!r}; expected a text")
    for message in info["messages"]:
        _expect(message.keys() == {"role", "content"}, f"a message is {message!r}; expected a role and a content")


def _check_end(env: gymnasium.Env[str, str], seed: int) -> None:
    """Play until the episode is cut off, which every episode is that nobody ends."""
    _begin(env, seed)
    for _ in range(1000):
        result = _step(env, MALFORMED)
        if result[2] or result[3]:
            break
    else:
        raise ConformanceError("an episode of 1,000 malformed actions was neither terminated nor truncated")
    info = result[4]
    _expect(result[1] in _ENDINGS, f"the reward at the end is {result[1]!r}; expected 0.0 or 1.0")
    _expect_equal("info['success'] at the end", result[1] == 1.0, info.get("success"))
    _expect(bool(info.get("verdicts")), "info['verdicts'] must say at the end why an episode was judged so")
    _expect_raised("a step after the end", ResetNeeded, lambda: env.step(MALFORMED))


def _check_snapshots(env: gymnasium.Env[str, str], seed: int, replies: Sequence[str]) -> None:
    """A snapshot goes on as the episode did, any number of times, also when it has been pickled."""
    whole: Any = env.unwrapped
    _begin(env, seed)
    half = len(replies) // 2
    for reply in replies[:half]:
        env.step(reply)
    try:
        snapshot = _travelled(whole.snapshot())
    except SnapshotError:
        return  # what stands on real servers cannot be brought back
    straight = [whole.step(reply) for reply in replies[half:]]
    for _ in range(2):
        observation, _ = whole.restore(snapshot)
        _expect(whole.observation_space.contains(observation), "the observation of restore() is not in its space")
        _expect_equal("what follows a restored snapshot", straight, [whole.step(reply) for reply in replies[half:]])
    _expect_raised("restoring what is no snapshot", SnapshotError, lambda: whole.restore(None))


# Vector envs.


def check_vector_env(
    envs: gymnasium.vector.VectorEnv[Any, Any, Any], *, seed: int = 7, actions: Sequence[Sequence[str]] | None = None
) -> None:
    """Check a vector env against Gymnasium's API for the texts of these envs. Raises ConformanceError.

    `actions` has a list of one reply for each env for every step; by default four times a malformed one. Checked are the shapes and
    types of what `reset` and `step` return, the spaces, the masks of the infos, and equal batches for equal seeds.
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

    _expect_equal("the batches of a second play with the same seed and actions", play(), play())
    whole: Any = envs  # Gymnasium's vector envs take one seed for each env as well, which its annotation leaves out
    singles = set(whole.reset(seed=[seed] * count)[0])
    _expect(len(singles) == 1, f"envs with the same seed must begin alike, found {len(singles)} different observations")


def _check_columns(envs: gymnasium.vector.VectorEnv[Any, Any, Any], observations: Any, infos: dict[str, Any]) -> None:
    _expect(len(observations) == envs.num_envs, f"there are {len(observations)} observations of {envs.num_envs} envs")
    for observation in observations:
        _expect(envs.single_observation_space.contains(observation), f"{str(observation)[:200]!r} is not in its space")
    for key in _ALWAYS:
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
        sent = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0)).decode()
        body = f"<title>Sent</title><p>{environ['REQUEST_METHOD']} {sent.replace('&', ' and ')}</p>"
    start_response("200 OK", [("Content-Type", "text/html; charset=utf-8")])
    return [f"<!doctype html>{body}".encode()]


def check_browser(make_browser: Callable[[Network], Browser]) -> None:
    """Check a browser against the Protocol `webarena_gym.browsers.Browser`. Raises ConformanceError.

    `make_browser` makes one on a network, whose sites it must reach and nothing else. Checked are pages and titles, links, forms,
    tabs, the history, unreachable hosts, what is refused, and snapshots where the browser takes them.
    """
    browser = make_browser(Network({"home.test": _site}))

    def named(label: str) -> Any:
        return observe(browser.page(), elements="label").element(label)

    def expect_title(what: str, expected: str) -> None:
        _expect_equal(what, expected, browser.page().title)

    try:
        _expect_raised("page() before start()", BrowserError, browser.page)
        browser.start([HOME], {})
        _expect_equal("the address of the first page", HOME, browser.page().url)
        expect_title("its title", "Home")
        _expect_raised("clicking what is hidden", ActionError, lambda: browser.click(browser.page().root.find(".//p/a")))
        browser.click(named("To the form"))
        expect_title("the title of the page that a link leads to", "Form")

        _expect_raised("pressing a disabled button", ActionError, lambda: browser.click(named("Off")))
        _expect_raised("typing into a button", ActionError, lambda: browser.type(named("Send"), "x"))
        _expect_raised("an option that is not there", ActionError, lambda: browser.select(named("Size"), "Huge"))
        browser.type(named("Name"), "Ann")
        browser.click(named("News"))
        browser.select(named("Size"), "Large")
        browser.click(named("Send"))
        _expect_equal("what a form sends", "POST name=Ann and news=yes and size=Large", _text(browser))
        browser.go_back()
        expect_title("the page before", "Form")
        _expect('value="Ann"' in _text(browser), "the history must keep what was entered")
        browser.go_forward()
        expect_title("the page after", "Sent")
        _expect_raised("going forward from the newest page", ActionError, browser.go_forward)

        browser.goto(HOME)
        browser.click(named("List in a tab"))
        _expect_equal("the tabs after a link that opens one", ("Home", "List"), tuple(tab.title for tab in browser.page().tabs))
        _expect_equal("the active tab", 1, browser.page().active_tab)
        browser.switch_tab(0)
        expect_title("the page of the first tab", "Home")
        _expect_raised("a tab that is not there", ActionError, lambda: browser.switch_tab(2))
        browser.switch_tab(1)
        browser.close_tab()
        _expect_equal("the tabs after one was closed", 1, len(browser.page().tabs))

        browser.goto("http://nowhere.test/")
        _expect(browser.has_failed, "a host that is not in the network must be told by a page, and has_failed be true")
        browser.goto(f"{HOME}form")
        browser.type(named("Name"), "Bo")
        shown, snapshot = _text(browser), _travelled(browser.snapshot())
        browser.goto(f"{HOME}list")
        browser.restore(snapshot)
        _expect_equal("the page of a restored snapshot", shown, _text(browser))
        _expect_raised("restoring what is no snapshot", SnapshotError, lambda: browser.restore(None))
        browser.close()
        _expect_raised("page() after close()", BrowserError, browser.page)
    finally:
        browser.close()


def _text(browser: Browser) -> str:
    return observe(browser.page(), header=False).text


# Backends.


def check_backend(backend: Backend, task: Task) -> None:
    """Check a backend against `webarena_gym.backends.base.Backend`, by bringing it to a task. Raises ConformanceError.

    Checked are that the browser is there after `enter` alone, that a task begins the same every time, also after a browser was given
    up or everything was closed, that unknown databases are refused, and snapshots where the backend takes them.
    """
    _expect_raised("the browser before enter()", LookupError, lambda: backend.browser)
    goal = backend.enter(task)
    _expect(bool(goal), "enter() must return the goal that the agent is told")
    for placeholder in backend.urls:
        _expect(placeholder.startswith("__") and placeholder.endswith("__"), f"urls has {placeholder!r}; expected __NAME__")
    begun = _text(backend.browser)
    _expect_raised("a database of no site", KeyError, lambda: backend.database("nowhere"))
    try:
        snapshot = _travelled(backend.snapshot())
    except SnapshotError:
        pass  # it takes none
    else:
        backend.browser.new_tab()
        backend.restore(snapshot)
        _expect_equal("the page of a restored snapshot", begun, _text(backend.browser))
        _expect_raised("restoring what is no snapshot", SnapshotError, lambda: backend.restore(None))
    for what in ("enter", "discard_browser", "close"):
        if what != "enter":
            getattr(backend, what)()
        _expect_equal("the goal of the same task", goal, backend.enter(task))
        _expect_equal("the page where the same task begins", begun, _text(backend.browser))
