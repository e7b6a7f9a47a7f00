"""Hooks of mkdocs and griffe: files of the repository that a page links to become files of the site; examples of docstrings become code.

The generated summaries of API pages, for readers of the repository, are left out: the site has the full reference.
"""

import re
from pathlib import Path
from typing import Any

import griffe
from mkdocs.structure.files import File

ROOT = Path(__file__).parent.parent
_OUTSIDE = re.compile(r"\]\((?P<up>(?:\.\./)+)(?P<path>(?:agents|benchmarks|tests)/[^)#\s]*|[A-Z]+\.md)(?:#[^)\s]*)?\)")


def on_files(files: Any, config: Any) -> Any:
    """Add the files of the repository that pages link to, as text."""
    for page in files.documentation_pages():
        for match in _OUTSIDE.finditer(Path(page.abs_src_path).read_text(encoding="utf-8")):
            if (ROOT / match["path"]).is_file() and files.get_file_from_path(_name(match["path"])) is None:
                content = (ROOT / match["path"]).read_text(encoding="utf-8")
                files.append(File.generated(config, _name(match["path"]), content=content))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Lead links to files of the repository to their copies, and remove links to folders and the summaries of API pages.

    The directives of mkdocstrings, which are in a comment, become visible.
    """
    markdown = re.sub(r"<!-- begin api_\w+ -->.*?<!-- end api_\w+ -->\n", "", markdown, flags=re.DOTALL)
    markdown = re.sub(r"<!-- mkdocstrings\n(.*?)-->", r"\1", markdown, flags=re.DOTALL)
    up = "../" * page.file.src_uri.count("/")
    markdown = re.sub(r"\[([^\]]*)\]\((?:\.\./)+[\w/]+/results\)", r"\1", markdown)
    return _OUTSIDE.sub(lambda match: f"]({up}{_name(match['path'])})", markdown)


def _name(path: str) -> str:
    return f"repository/{path}.txt"


class Doctests(griffe.Extension):
    """Show the examples of docstrings as code."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Fence each run of lines from ">>>" to the next empty line."""
        if obj.docstring is not None:
            obj.docstring.value = re.sub(
                r"^>>> .*(?:\n.+)*", lambda match: f"```python\n{match[0]}\n```", obj.docstring.value, flags=re.MULTILINE
            )
