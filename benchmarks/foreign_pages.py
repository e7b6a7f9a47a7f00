"""Pages of other software in both browsers: `python -m benchmarks.foreign_pages /usr/share/doc/* --json`.

Each folder contains HTML files with their style sheets, such as the manual of a program. A random sample of the files of each folder is
opened in the in-process browser and in Chromium, without their scripts. The benchmark counts the pages whose text observations are equal,
once with style sheets ignored by the in-process browser and once with them, and prints the first difference of each other page.
"""

import mimetypes
import re
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from random import Random
from typing import Any

from werkzeug.wrappers import Request, Response

from benchmarks.machine import log_progress, report
from webarena_gym import console
from webarena_gym.browsers.chromium.browser import ChromiumBrowser
from webarena_gym.browsers.inprocess import InProcessBrowser
from webarena_gym.observation import observe
from webarena_gym.pages.page import Network

_HOST = "pages.test"
_MAX_BYTES = 120_000  # of a page
_PAGES = (".html", ".htm", ".xhtml")
_SCRIPT = re.compile(rb"<script\b.*?</script\s*>|<script\b[^>]*/>", re.DOTALL | re.IGNORECASE)
_TAG = re.compile(rb"<[a-z][^<>\"']*(?:\"[^\"]*\"[^<>\"']*|'[^']*'[^<>\"']*)*>", re.IGNORECASE)
_HANDLER = re.compile(rb"\son[a-z]+\s*=\s*(?:\"[^\"]*\"|'[^']*'|[^\s>\"']+)", re.IGNORECASE)


def main() -> None:
    """Run the benchmark and print the results."""
    parser = console.Parser(prog="python -m benchmarks.foreign_pages", description=__doc__)
    add = parser.add_argument
    add("folders", nargs="+", type=Path, help="folders with HTML files")
    add("--pages", type=console.integer(1), default=6, help="pages of each folder (default: 6)")
    add("--seed", type=console.integer(0), default=1, help="seed of the samples (default: 1)")
    add("--json", action="store_true", help="print one JSON object as the last line")
    options = parser.parse_args()
    for folder in options.folders:
        if not folder.is_dir():
            parser.error(f"argument FOLDERS: is {str(folder)!r}; expected a folder")
    rows = compare(options.folders, options.pages, options.seed)
    for folder, row in rows.items():
        print(
            f"{folder:<24}{row['pages']:>4} pages, equal without styles {row['without_styles']:>3}, with styles {row['with_styles']:>3}"
        )
    total = {key: sum(row[key] for row in rows.values()) for key in ("pages", "without_styles", "with_styles")}
    report("foreign_pages", {"folders": rows, "all": total}, as_json=options.json)


def compare(folders: Sequence[Path], count: int, seed: int) -> dict[str, dict[str, int]]:
    """Return the numbers of pages and of equal pages of each folder that has any."""
    dice, rows = Random(seed), dict[str, dict[str, int]]()
    with ExitStack() as stack:
        folder = Path()
        network = Network({_HOST: lambda environ, start_response: serve(folder, environ, start_response)})
        browsers = [
            stack.enter_context(closing(browser))
            for browser in (
                InProcessBrowser(network),
                InProcessBrowser(network, strict=True),
                ChromiumBrowser(network, strict=True),
            )
        ]
        for folder in folders:
            files = page_files(folder)
            sample = dice.sample(files, min(count, len(files)))
            equal = [0, 0]
            for path in sample:
                texts = []
                for browser in browsers:
                    browser.start([f"http://{_HOST}/{path.relative_to(folder)}"], {})
                    texts.append(observe(browser.page()).text.splitlines())
                equal = [number + (text == texts[-1]) for number, text in zip(equal, texts, strict=False)]
                if texts[1] != texts[-1]:
                    log_progress(f"{path}: {first_difference(texts[1], texts[-1])}")
            if sample:
                rows[folder.name] = {"pages": len(sample), "without_styles": equal[0], "with_styles": equal[1]}
    return rows


def page_files(folder: Path) -> list[Path]:
    """Return the HTML files of a folder that are not too large, in the order of their names."""
    return sorted(
        path for path in folder.rglob("*") if path.suffix in _PAGES and path.is_file() and path.stat().st_size < _MAX_BYTES
    )


def serve(folder: Path, environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
    """Answer a request with a file of a folder; pages are sent without their scripts."""
    path = (folder / Request(environ).path.lstrip("/")).resolve()
    if not path.is_file() or not path.is_relative_to(folder.resolve()):
        return Response("not found", 404)(environ, start_response)
    body, content_type = path.read_bytes(), mimetypes.guess_type(path.name)[0]
    if path.suffix in _PAGES:
        body, content_type = without_scripts(body), "text/html; charset=utf-8"
    return Response(body, content_type=content_type)(environ, start_response)


def without_scripts(page: bytes) -> bytes:
    """Return a page without its `script` elements and event handlers.

    >>> without_scripts(b'<p onclick="a()" id=p>1 onclick=2<script>b()</script></p>')
    b'<p id=p>1 onclick=2</p>'
    """
    return _TAG.sub(lambda tag: _HANDLER.sub(b"", tag[0]), _SCRIPT.sub(b"", page))


def first_difference(first: Sequence[str], second: Sequence[str]) -> str:
    """Return the first lines in which two texts differ."""
    for ours, theirs in zip([*first, ""], [*second, ""], strict=False):
        if ours != theirs:
            return f"{ours[:100]!r} in process, {theirs[:100]!r} in Chromium"
    return "one is the beginning of the other"


if __name__ == "__main__":
    console.run("python -m benchmarks.foreign_pages", lambda _: main())
