"""Observations of an env: the current page as the agent receives it, with the history of its episode, the info, and pictures."""

from collections.abc import Sequence
from html import escape
from io import BytesIO
from typing import Any, NamedTuple

import gymnasium
import numpy
from numpy.typing import NDArray

from webarena_gym.browsers.base import Browser
from webarena_gym.episode import Episode, Info
from webarena_gym.evaluators.checklist import ChecklistItem, describe
from webarena_gym.observation import Observation, header_lines, observe, pivotal_text
from webarena_gym.observation.history import Message, as_text, compress, keep_results, placeholder
from webarena_gym.observation.pictures import (
    MAX_BOXES,
    SCREENSHOT,
    Picture,
    attach_pictures,
    elements_by_number,
    marks_of,
    picture_of,
)
from webarena_gym.options import EnvOptions
from webarena_gym.pages.page import Page
from webarena_gym.spaces import within_charset
from webarena_gym.texts import MAX_GOAL, MAX_PAGE, cut
from webarena_gym.toolbox import Toolbox, ToolUse


class RenderedPage(NamedTuple):
    """A page as the agent receives it: the page, its visible part, the page text, and the picture, if observations have one."""

    page: Page
    observation: Observation
    text: str
    picture: Picture | None = None


class Renderer:
    """Renders the pages and the observations of an env.

    Args:
        options: the keywords of the env.
        system_prompt: the system prompt of a language model.
        toolbox: the tools of the env, if it has some.

    """

    def __init__(self, options: EnvOptions, system_prompt: str, toolbox: Toolbox | None) -> None:
        self._options, self._system_prompt, self._toolbox = options, system_prompt, toolbox
        self.shows_layout = options.viewport == "layout" or options.observation in ("pixels", "marks")
        """True if the browser's window selects the visible part of a page, instead of a window over its text."""

    def render(
        self, browser: Browser, top: int, action_error: str, tools: ToolUse | None = None, page: Page | None = None
    ) -> RenderedPage:
        """Return the current page of a browser.

        Args:
            browser: the browser.
            top: index of the first visible line of the page text.
            action_error: error message of the last action; "" if it succeeded.
            tools: calls of tools in the episode, if the env has tools.
            page: the page, if it was just read; by default it is read from the browser.

        Raises:
            BrowserError: if the browser fails.

        """
        options, page, style = self._options, page or browser.page(), self._options.observation
        observation = observe(
            page,
            elements=options.elements,
            style=options.text_style,
            bbox=options.bbox,
            header=options.header,
            window=MAX_PAGE if self.shows_layout else options.window,
            top=top,
            max_text=options.max_text,
        )
        text, picture = observation.text, None
        if options.has_pictures:
            capture = browser.capture(elements_by_number(observation), options.picture_format)
            picture = picture_of(capture, options.picture_format, marks=style == "marks", cursor=options.cursor)
            if style != "text+pixels":
                marks = marks_of(page, (box[0] for box in capture.boxes[:MAX_BOXES])) if style == "marks" else ""
                text = "\n".join([*(header_lines(page) if options.header else ()), *([marks] if marks else ())])
        text = f"Action error: {action_error}\n{text}" if action_error else text
        text = tools.prepend_result(text, options.tool_tag) if tools else text
        return RenderedPage(page, observation, cut(within_charset(text), MAX_PAGE), picture)

    def build_observation(
        self,
        episode: Episode,
        current: RenderedPage,
        checklist: Sequence[ChecklistItem],
        answer_form: str,
        site_errors: Sequence[str],
    ) -> tuple[Any, dict[str, Any]]:
        """Return the observation and the info of the current state of an episode.

        Args:
            episode: the episode.
            current: its current page.
            checklist: items of the task, if the reward is a checklist.
            answer_form: instructions on the format of the answer; "" if there are none.
            site_errors: errors of the sites in this episode.

        """
        options = self._options
        summarize_text = pivotal_text if options.observation == "occam" else placeholder
        summarize = (lambda *_: SCREENSHOT) if current.picture else summarize_text  # of earlier pages
        summarize = keep_results(summarize, options.tool_tag) if self._toolbox else summarize
        chat = compress(
            episode.goal, episode.turns, current.text, options.history, thoughts=options.thoughts, summarize=summarize
        )
        messages: list[Message] = [{"role": "system", "content": self._system_prompt}, *chat]
        info: Info = {
            "goal": episode.goal,
            "url": current.page.url,
            "page": current.text,
            "messages": messages,
            "step": len(episode.turns),
            "action_error": episode.action_error,
            "task_id": episode.task.task_id,
        }
        if episode.steps_left is not None:
            info["steps_left"] = episode.steps_left
        if self._toolbox and episode.tools:
            info["tools"] = self._toolbox.info(episode.tools)
        if episode.satisfied is not None:
            info["checklist"] = describe(checklist, episode.satisfied)
        if answer_form:
            info["answer_form"] = answer_form
        if site_errors:
            info["site_errors"] = [*site_errors]
        if current.picture is None:
            return as_text(chat), dict(info)
        info["messages"] = attach_pictures(messages, [*episode.pictures, current.picture.url])
        goal, (pixels, boxes, _) = within_charset(cut(episode.goal, MAX_GOAL)), current.picture
        return {"goal": goal, "text": as_text(chat), "screenshot": pixels, "boxes": boxes}, dict(info)


def screenshot_pixels(browser: Browser) -> NDArray[numpy.uint8]:
    """Return a screenshot of a browser's window as an array of shape (height, width, 3)."""
    from PIL import Image  # noqa: PLC0415 - comes with the extra for pictures

    with Image.open(BytesIO(browser.screenshot())) as image:
        return numpy.asarray(image.convert("RGB"))


def notebook_html(episode: Episode, current: RenderedPage) -> str:
    """Return the HTML representation of an episode in notebooks: goal, last action, and the current page text."""
    action = episode.turns[-1].reply if episode.turns else ""
    last_action = f"<p><b>Last action</b> <code>{escape(action)}</code></p>" if action else ""
    error = f"<p><b>Error</b> {escape(episode.action_error)}</p>" if episode.action_error else ""
    url = f"<p><b>Page</b> <code>{escape(current.page.url)}</code></p>"
    page = f'<pre style="max-height: 24em; overflow: auto; white-space: pre-wrap">{escape(current.text)}</pre>'
    return f"<div><p><b>Goal</b> {escape(episode.goal)}</p>{last_action}{error}{url}{page}</div>"


def warn_no_render_mode() -> None:
    """Warn that `render` returns None, because the env has no render mode."""
    gymnasium.logger.warn("render() returns None without a render mode; make the env with render_mode='ansi', for example")
