"""`WebArenaLite-v0`: a Gymnasium environment in which an agent performs one web task per episode, on a private copy of the sites."""

import sqlite3
import warnings
from collections.abc import Mapping
from dataclasses import replace
from html import escape
from typing import Any

import gymnasium
from gymnasium.error import ResetNeeded

from webarena_gym.actions import Kind, instructions, tools
from webarena_gym.arguments import expect_positive
from webarena_gym.backends.base import Backend
from webarena_gym.backends.embedded import EmbeddedBackend
from webarena_gym.browsers.base import Browser, perform_action
from webarena_gym.changes import Change
from webarena_gym.construction import TaskSelection, make_backend, make_browser
from webarena_gym.episode import Episode as Episode  # snapshots of earlier versions look for these here
from webarena_gym.episode import Info as Info
from webarena_gym.episode import Snapshot as Snapshot
from webarena_gym.errors import ActionError, ApplicationError, BrowserError, EvaluationError, SnapshotError
from webarena_gym.limits import step_budget, step_limit
from webarena_gym.observation import Observation, scrolled_top
from webarena_gym.observation.history import Turn
from webarena_gym.options import EnvOptions, signature_of_env
from webarena_gym.pages.page import Network, Page
from webarena_gym.rendering import RenderedPage as RenderedPage
from webarena_gym.rendering import Renderer, notebook_html, screenshot_pixels
from webarena_gym.rendering import warn_no_render_mode as warn_no_render_mode
from webarena_gym.rewards import FAILURE_REWARD as FAILURE_REWARD
from webarena_gym.rewards import Rewards
from webarena_gym.spaces import MAX_OBSERVATION, picture_space, reply_space, text_space, within_charset
from webarena_gym.tasks import Task
from webarena_gym.texts import MAX_ERROR, MAX_REPLY, cut
from webarena_gym.toolbox import Toolbox

_SCROLLING = (Kind.SCROLL_DOWN, Kind.SCROLL_UP)

ResetResult = tuple[Any, dict[str, Any]]
"""Observation and info. The observation is a str, or a dictionary with a picture (see `spaces.picture_space`)."""
StepResult = tuple[Any, float, bool, bool, dict[str, Any]]
"""Observation, reward, terminated, truncated and info, as `gymnasium.Env.step` returns them."""


class WebArenaLite(gymnasium.Env[Any, str]):
    """A Gymnasium environment for web agents.

    Actions are replies of a model, as text of at most 100,000 characters. Observations are text of at most 1,000,000 characters, or a
    dictionary of text and a picture. The reward is 1.0 if the episode passes all checks of its task, and 0.0 otherwise; it is given at the
    end of the episode. `reward="checklist"` divides it into items, and "f1" weighs them against the number of steps.

    - The episode terminates when the agent exits with an answer.
    - It is truncated after `max_steps`, and is then evaluated with an empty answer. A smaller limit of Gymnasium's TimeLimit
      (`gymnasium.make(..., max_episode_steps=...)`) truncates outside of the env, which does not evaluate the episode.
    - A malformed or impossible action changes nothing. The next observation contains the error message.
    - If the browser or an application fails, the episode is truncated without evaluation. Its reward is NaN by default (see `on_failure`), and
      `info["failure"]` describes the failure.
    - If an embedded site raises an exception, it returns a page with status 500, and `info["site_errors"]` contains the exception. The
      episode goes on. If it then ends without success, it counts as a failure of the infrastructure as above.
    - If your application answers with a status of 500 or more, `info["site_errors"]` contains the request and the status. The episode goes on
      and is evaluated.

    >>> import gymnasium, webarena_gym
    >>> env = gymnasium.make("WebArenaLite-v0", split="test", elements="label")
    >>> observation, info = env.reset(options={"task": "shopping.product_price/1000/0"})
    >>> info["goal"]
    'How much does the Dimutre Compact Bike Light Set, 800 lm cost?'
    >>> observation, reward, terminated, truncated, info = env.step('exit(message="$46.50")')
    >>> reward, terminated
    (1.0, True)

    Args:
        **keywords: the fields of `webarena_gym.options.EnvOptions`, which documents each of them.

    """

    metadata: dict[str, Any] = {"render_modes": ["ansi", "rgb_array", "human"], "render_fps": 1}  # noqa: RUF012 - the type is Gymnasium's

    def __init__(self, **keywords: object) -> None:
        self.options = options = EnvOptions.of(keywords)
        if options.browser == "inprocess":
            self.metadata = self.metadata | {"render_modes": ["ansi"]}
        self.render_mode = options.render_mode
        self.dialect = options.build_dialect()
        self.observation_space = picture_space(*options.window_size) if options.has_pictures else text_space(MAX_OBSERVATION)
        """A `Text` of 0 to 1,000,000 characters. With pictures, a `Dict`: "goal" and "text" (`Text`), "screenshot" (uint8 of shape (height,
        width, 3)) and "boxes" (int32 of shape (boxes, 5): number, left, top, right and bottom, or -1 in unused rows)."""
        self.action_space = reply_space(self.dialect)
        """A `Text` of 0 to 100,000 characters. A sample is a well-formed action of the dialect, whose element may not exist on the page."""
        self.system_prompt = instructions(self.dialect, options.observation)
        """The system prompt of a language model: the actions with examples, and the rule for answers."""
        self._toolbox = (
            Toolbox(options.tool_functions, options.tool_budget, options.tool_window, options.tool_tag)
            if options.tools
            else None
        )
        self._renderer = Renderer(options, self.system_prompt, self._toolbox)
        self._backend = make_backend(options, self._make_browser)
        self._rewards = Rewards(options)
        self._episode: Episode | None = None
        self._answer_form = ""  # instructions on the format of the answer, if the task declares the type of its answer
        self._rendered: RenderedPage | None = None  # cache of the current page; None after an action
        self._last_page: RenderedPage | None = None  # the last page of an episode whose browser failed
        # False during a call that changes the episode. If that call is interrupted, it stays False until the next reset.
        self._is_consistent = True
        self._selection = TaskSelection(options)  # last, so that errors in keywords precede those in tasks

    @property
    def action_schema(self) -> list[dict[str, Any]]:
        """The actions in the format of OpenAI's `tools`, with JSON Schemas; `webarena_gym.actions.reply_of` turns a call into a reply.

        During an episode, the description of the exit action includes the format of the task's answer.
        """
        return tools(self.dialect, self._answer_form if self._episode else "")

    # The state of the episode, for experts, searches and viewers.

    @property
    def tasks(self) -> tuple[Task, ...]:
        """The tasks from which `reset` draws."""
        return self._selection.tasks

    @property
    def task(self) -> Task:
        """The task of the current episode, with its checks and reference solution. Raises ResetNeeded before the first `reset`."""
        return self._running_episode().task

    @property
    def page(self) -> Page:
        """The current page: its URL and its parsed HTML."""
        return self._current_page(self._running_episode()).page

    @property
    def observation(self) -> Observation:
        """The visible part of the page, with the elements that actions can refer to."""
        return self._current_page(self._running_episode()).observation

    @property
    def backend(self) -> Backend:
        """The sites and the browser of the env, for tools and tests that look behind the observations."""
        return self._backend

    def database(self, site: str) -> sqlite3.Connection:
        """Return the episode's database of an embedded site, for inspection and for tests. Raises LookupError on real servers."""
        self._running_episode()
        return self._backend.database(site)

    def changes(self) -> list[Change]:
        """Return the rows that the episode has changed so far. Raises LookupError on real servers, whose databases cannot be read.

        >>> env = WebArenaLite(elements="label")
        >>> _, info = env.reset(options={"task": "shopping.wish_list_add/1000/0"})
        >>> for action in env.task.solution:
        ...     *_, info = env.step(env.dialect.format(action.action))
        >>> [(change.site, change.table, change.before) for change in env.changes()]
        [('shopping', 'wishlist_item', None)]
        """
        self._running_episode()
        return self._backend.changes()

    @property
    def network(self) -> Network:
        """The embedded sites of the episode, for clients other than the env's browser. Raises LookupError on real servers."""
        self._running_episode()
        return self._backend.network

    @property
    def cookies(self) -> Mapping[str, Mapping[str, str]]:
        """The browser's cookies at the start of the episode, by host and name, including those of the signed-in sessions."""
        self._running_episode()
        return self._backend.cookies

    # Gymnasium's interface.

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> ResetResult:
        """Start an episode on sites in their initial state.

        Args:
            seed: seed of the random number generator that draws tasks from the split; None continues its sequence.
            options: `{"task": id}` selects a task, by its id or as a `Task`; by default one is drawn from the split.
                `{"max_steps": n}` truncates this episode after n steps, at most the env's own limit.

        Returns:
            The first observation and its info.

        Raises:
            TaskError: for an unknown task or option.
            EvaluationError: for a task that the rules cannot judge.
            ApplicationError: if the application cannot be started.
            BrowserError: if the browser cannot be started.
            TypeError: for options that are not a dictionary.
            ValueError: for a `max_steps` that is not positive, or larger than the env's own limit.

        """
        super().reset(seed=seed)
        if options is not None and not isinstance(options, Mapping):
            raise TypeError(
                f"options is a {type(options).__name__}; expected a dict such as {{'task': 'shopping.cart_add/1000/0'}}"
            )
        task, max_steps = self._select_task(options or {}), (options or {}).get("max_steps")
        if max_steps is not None:
            max_steps, limit = expect_positive("max_steps", max_steps), step_limit(self.options, task)
            if max_steps > limit:
                raise ValueError(
                    f"max_steps is {max_steps}; expected at most the env's limit of {limit} steps, or an env that is made with max_steps={max_steps}"
                )
        self._discard_episode()
        try:
            goal = self._backend.enter(task)
        except BrowserError:  # the browser may have crashed since the last episode, so retry once with a new one
            self._backend.discard_browser()
            goal = self._backend.enter(task)
        budget = step_budget(self.options, task)
        if budget is not None:
            goal = f"{goal}\nTake at most {budget} step{'s' * (budget > 1)}, exit included. Scrolling does not count."
        tools = self._toolbox.start() if self._toolbox else None
        return self._start_episode(Episode(task, goal, max_steps=max_steps, steps_left=budget, tools=tools))

    def step(self, action: str) -> StepResult:
        """Perform the action in a model's reply.

        An interrupted step (Ctrl-C) ends the episode, since the action may have been performed in part: call `reset` next.

        Args:
            action: the complete reply of the model. The env's dialect parses the action from it.

        Returns:
            Observation, reward (0.0 until the end of the episode), terminated, truncated and info.

        Raises:
            ResetNeeded: outside an episode.
            TypeError: for an action that is not a str.
            ApplicationError, BrowserError: for an infrastructure failure, with `on_failure="raise"`.
            EvaluationError: if the evaluation of the episode fails.

        """
        episode = self._running_episode("step")
        if not isinstance(action, str):
            raise TypeError(f"action must be a str, got {type(action).__name__}")
        self._is_consistent = False
        last = self._current_page(episode)
        try:
            answer = self._apply_action(episode, action)
            terminated = answer is not None or self._is_finished_by_page()
            env_limit = step_limit(self.options, episode.task)
            limit = min(env_limit, episode.max_steps or env_limit)
            truncated = not terminated and (len(episode.turns) >= limit or episode.steps_left == 0)
            episode.is_over = terminated or truncated
            last = self._current_page(episode)
            ending = self._evaluate(answer or "") if episode.is_over else {}
        except (ApplicationError, BrowserError) as error:
            result = self._abort(episode, last, error)
        except EvaluationError:  # the action itself was completed
            self._is_consistent = True
            raise
        else:
            reward = self._rewards.reward(episode, self._backend, last.page.url, ending)
            text, info = self._build_observation(episode, last)
            result = text, reward, terminated, truncated, {**info, **ending}
        self._is_consistent = True  # last, so that an interrupt cannot come between this and the return
        return result

    def submit(self, answer: str, url: str | None = None, cookies: Mapping[str, Mapping[str, str]] | None = None) -> StepResult:
        """End and evaluate an episode in which another client used the sites through `network`, instead of the env's browser.

        Args:
            answer: the client's answer.
            url: the client's final page, which the env's browser opens for the evaluation. None evaluates the browser's current page.
            cookies: the client's cookies, by host and name, with which the browser opens `url`.

        Returns:
            The result of the last step of the episode, as `step` returns it.

        Raises:
            ResetNeeded: outside an episode.
            LookupError: on real servers.
            ActionError: for a URL that the browser cannot open; the episode goes on.

        """
        episode = self._running_episode("submit")
        _, browser = self.network, self._backend.browser
        self._is_consistent = False
        if url is not None:
            before = browser.snapshot()
            try:
                browser.start([url], cookies or {})
            except ActionError:
                browser.restore(before)
                self._is_consistent = True
                raise
            episode, self._rendered = (
                Episode(episode.task, episode.goal, episode.turns, satisfied=episode.satisfied, tools=episode.tools),
                None,
            )
        self._episode, episode.is_over = episode, True
        last = self._current_page(episode)
        self._is_consistent = True
        try:
            ending = self._evaluate(answer)
        except (ApplicationError, BrowserError) as error:
            return self._abort(episode, last, error)
        reward = self._rewards.reward(episode, self._backend, last.page.url, ending)
        text, info = self._build_observation(episode, last)
        return text, reward, True, False, {**info, **ending}

    def conclude(
        self, answer: str, url: str | None = None, cookies: Mapping[str, Mapping[str, str]] | None = None
    ) -> StepResult:
        """Return the result of `submit`; the deprecated name of that method."""
        warnings.warn("WebArenaLite.conclude is deprecated; use submit", DeprecationWarning, stacklevel=2)
        return self.submit(answer, url, cookies)

    def render(self) -> Any:
        """Return the current page, in the format of `render_mode`.

        Returns:
            The page text as a str ("ansi"), or a uint8 array of shape (height, width, 3) ("rgb_array"); None for "human", and without a
            `render_mode`, as in Gymnasium's envs with a warning. After a failure of the browser, the last page text, or None instead of a
            picture.

        Raises:
            ResetNeeded: before the first `reset`.

        """
        if self.render_mode is None:
            warn_no_render_mode()
            return None
        if self._last_page is not None:
            return self._last_page.text if self.render_mode == "ansi" else None
        if self.render_mode == "ansi":
            return self._current_page(self._running_episode()).text
        if self.render_mode == "rgb_array":
            if (picture := self._current_page(self._running_episode()).picture) is not None:
                return picture.pixels
            return screenshot_pixels(self._backend.browser)
        return None

    def _repr_html_(self) -> str:
        """Return the HTML representation of the env in notebooks: goal, last action, and the current page text."""
        if self._episode is None or self._last_page is not None:
            return f"<pre>{escape(repr(self))}</pre>"
        episode = self._running_episode()
        return notebook_html(episode, self._current_page(episode))

    def close(self) -> None:
        """Release the sites and the browser. A later `reset` opens them again."""
        self._is_consistent = False
        self._backend.close()
        self._episode = self._rendered = self._last_page = None
        self._is_consistent = True

    # Forking.

    def __getstate__(self) -> object:
        raise TypeError("an env cannot be copied or pickled; restore its snapshot() in another env with the same keywords")

    def snapshot(self) -> Snapshot:
        """Return the complete state of the episode: databases, cookies, open pages, history, states of tools, and random number generator.

        >>> env = WebArenaLite(elements="label")
        >>> _, info = env.reset(options={"task": "shopping.product_price/1000/0"})
        >>> snapshot = env.snapshot()
        >>> for answer in ("$53.99", "$46.50"):
        ...     _, info = env.restore(snapshot)
        ...     _, reward, *_ = env.step(f'exit(message="{answer}")')
        ...     print(answer, reward)
        $53.99 0.0
        $46.50 1.0

        Raises:
            ResetNeeded: outside an episode.
            SnapshotError: if the backend, the page or a tool does not support snapshots.

        """
        episode = self._running_episode()
        if self._toolbox and episode.tools:
            episode = replace(episode, tools=self._toolbox.snapshot(episode.tools))
        return Snapshot.of(episode, self._backend.snapshot(), self.np_random.bit_generator.state)

    def restore(self, snapshot: Snapshot) -> ResetResult:
        """Replace the current episode with that of a snapshot, which may come from another env or process.

        If scripts of an application keep state in the page that cannot be saved, the actions are repeated from the start of the episode.
        `info["replayed"]` is then their number.

        Returns:
            The observation and the info at the time of the snapshot.

        Raises:
            SnapshotError: for a value that is not a snapshot, or a damaged one; the current episode then goes on.

        """
        if not isinstance(snapshot, Snapshot):
            raise SnapshotError(f"expected a Snapshot, got {type(snapshot).__name__}")
        episode, backend, random_state = snapshot.unseal()
        self._discard_episode()
        replayed, page = 0, None
        try:
            page = self._backend.restore(backend)
        except SnapshotError:
            if not self._backend.can_replay(backend) or episode.tools:  # calls of tools cannot be repeated
                raise
            self._replay(episode, backend)
            replayed = len(episode.turns)
        episode.tools = self._toolbox.restore(episode.tools) if self._toolbox else None
        self.np_random.bit_generator.state = random_state
        observation, info = self._start_episode(episode, page)
        return observation, info | ({"replayed": replayed} if replayed else {})

    def _replay(self, episode: Episode, backend: object) -> None:
        """Repeat the actions of an episode from its start. Raises SnapshotError if the backend then differs from its snapshot `backend`."""
        self._backend.enter(episode.task)
        copy = Episode(episode.task, episode.goal)
        for turn in episode.turns:
            self._apply_action(copy, turn.reply)
        self._rendered = None
        self._backend.check_replay(backend)

    # Implementation.

    def _make_browser(self, network: Network) -> Browser:
        return make_browser(self.options, network)

    def _start_episode(self, episode: Episode, page: Page | None = None) -> ResetResult:
        self._episode, self._answer_form = episode, episode.task.answer_form
        if self._toolbox and isinstance(self._backend, EmbeddedBackend):
            self._toolbox.enter_world(self._backend.world.world_seed, self._backend.world.scale)
        self._rewards.start(episode, self._backend)
        result = self._build_observation(episode, self._current_page(episode, page))
        self._is_consistent = True
        return result

    def _current_page(self, episode: Episode, page: Page | None = None) -> RenderedPage:
        """Return the current page as the agent receives it, rendered once after each action. Raises BrowserError.

        `page` is the page if it was just read.
        """
        if self._rendered is None:
            self._rendered = self._renderer.render(
                self._backend.browser, episode.top, episode.action_error, episode.tools, page
            )
            if self._toolbox:
                self._toolbox.visit_page(self._rendered.page)
        return self._rendered

    def _build_observation(self, episode: Episode, current: RenderedPage) -> ResetResult:
        """Return the observation and the info of the current state of an episode."""
        errors = (*self._backend.site_errors, *map(str, self._backend.error_responses))
        return self._renderer.build_observation(episode, current, self._rewards.checklist, self._answer_form, errors)

    def _apply_action(self, episode: Episode, reply: str) -> str | None:
        """Perform the action in a reply, and return the answer of an exit action, None for other actions.

        The error message of a malformed, too long or impossible action is stored in `episode.action_error`. Raises BrowserError.
        """
        page, observation, text, picture = self._current_page(episode)
        episode.turns.append(Turn(text, within_charset(cut(reply, MAX_REPLY))))
        if picture and self.options.pictures > 1:
            episode.pictures = (*episode.pictures, picture.url)[1 - self.options.pictures :]
        episode.action_error = ""
        if episode.tools:
            episode.tools.result = None
        answer, is_free = None, False
        try:
            action = self.dialect.parse(reply)
            if action.kind is Kind.EXIT:
                answer = action.argument or ""
            elif action.kind is Kind.CALL:
                assert self._toolbox
                assert episode.tools  # the dialect parses calls only if the env has tools
                self._toolbox.call(episode.tools, action)
            elif is_free := action.kind in _SCROLLING:
                self._scroll(episode, observation, down=action.kind is Kind.SCROLL_DOWN)
            elif action.points is not None:
                is_free = action.kind is Kind.SCROLL
                self._backend.browser.gesture(action)
            else:
                element = None if action.element is None else observation.element(action.element)
                target = observation.element(action.argument or "") if action.kind is Kind.DRAG else None
                perform_action(self._backend.browser, action, element, target)
                after = self._backend.browser.page()
                if (after.url, after.active_tab) != (page.url, page.active_tab):
                    episode.top = 0
        except ActionError as error:
            episode.action_error = cut(within_charset(str(error)), MAX_ERROR)
        if episode.steps_left is not None and not is_free:
            episode.steps_left -= 1
        self._rendered = None
        return answer

    def _scroll(self, episode: Episode, observation: Observation, *, down: bool) -> None:
        """Move the window over the page text. At its end, scroll the browser to the end of the page, which may load more content."""
        browser = self._backend.browser
        if self._renderer.shows_layout or self.options.has_pictures:
            browser.scroll(down=down)
        if self._renderer.shows_layout:
            return
        top = scrolled_top(observation, down=down)
        if top == episode.top:
            browser.scroll(down=down, to_end=True)
            updated = self._renderer.render(browser, episode.top, "").observation
            if down and updated.total > observation.total:
                top = scrolled_top(updated, down=True)
            if top == episode.top:
                episode.action_error = f"the page {'ends' if down else 'begins'} here: there is nothing more to scroll {'down' if down else 'up'} to"
        episode.top = top

    def _is_finished_by_page(self) -> bool:
        """Return True if the page itself has ended the episode, which only other envs' pages do (see `miniwob`)."""
        return False

    def _discard_episode(self) -> None:
        """Discard the current episode. After an interrupted call, also close the backend, whose state is unknown."""
        if not self._is_consistent:
            self._backend.close()
        self._episode = self._rendered = self._last_page = None
        self._is_consistent = False

    def _running_episode(self, call: str = "") -> Episode:
        """Return the current episode; with the name of a call that continues it, only if it is not over. Raises ResetNeeded."""
        if not self._is_consistent:
            raise ResetNeeded("the last call was interrupted, which ended the episode; call reset()")
        if self._episode is None and not call:
            raise ResetNeeded("there is no episode; call reset() first")
        if self._episode is None or (call and self._episode.is_over):
            raise ResetNeeded(f"the episode is over or has not started; call reset() before {call}()")
        return self._episode

    def _select_task(self, options: dict[str, Any]) -> Task:
        """Return the task of the options of `reset`, or a random one of the split. Raises TaskError and EvaluationError."""
        return self._selection.select(options, self.np_random)

    def _evaluate(self, answer: str) -> dict[str, Any]:
        """Evaluate an episode that is over, and return the entries of its info. Raises BrowserError for a failure after a site error."""
        assert self._episode is not None
        return self._rewards.evaluate(self._episode.task, self._backend, answer)

    def _abort(self, episode: Episode, last: RenderedPage, error: ApplicationError | BrowserError) -> StepResult:
        """End an episode whose browser, site or application failed: truncate it without evaluation, with the last rendered page."""
        self._episode, self._rendered, self._last_page = None, None, last
        self._backend.discard_browser()
        if self.options.on_failure == "raise":
            raise error
        text, info = self._build_observation(episode, last)
        return text, FAILURE_REWARD[self.options.on_failure], False, True, {**info, "failure": str(error)}


# Gymnasium, help() and editors read the keywords from the signature.
setattr(WebArenaLite.__init__, "__signature__", signature_of_env())  # noqa: B010 - mypy knows no such attribute of a function
