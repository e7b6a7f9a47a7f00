#!/usr/bin/env bash
# langchain-text-splitters 1.1.3: pages and Markdown, split at their headings.
#
# Guess: a part has the words of the page in their order, and Markdown keeps its indentation.
# Seen:  `HTMLSemanticPreservingSplitter` puts inline elements before the text around them: "A <b>red</b> cup costs <i>$9</i> today." is
#        "red $9 A cup costs today."; text directly in the body comes after the last heading. `HTMLHeaderTextSplitter` puts inline elements
#        after it, and that text first, without a heading. `MarkdownHeaderTextSplitter` removes the indentation of lists and of code.
#        `HTMLSectionSplitter` keeps the order.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet langchain-text-splitters==1.1.3 langchain-core==1.8.3 beautifulsoup4==4.15.0 lxml==6.1.3
"$folder/venv/bin/python" - <<'PYTHON'
from langchain_text_splitters import HTMLHeaderTextSplitter, HTMLSectionSplitter, HTMLSemanticPreservingSplitter, MarkdownHeaderTextSplitter

HEADINGS = [("h1", "h1"), ("h2", "h2")]
PAGE = (
    "<html><body><h1>Cups</h1><p>A <b>red</b> cup costs <i>$9</i> today.</p>Ships on Monday."
    "<h2>Sizes</h2><p>Two sizes.</p></body></html>"
)
for splitter, expected in (
    (
        HTMLSemanticPreservingSplitter(HEADINGS),
        [("red $9 A cup costs today.", {"h1": "Cups"}), ("Two sizes. Ships on Monday.", {"h2": "Sizes"})],
    ),
    (
        HTMLHeaderTextSplitter(HEADINGS),
        [
            ("Ships on Monday.", {}),
            ("Cups", {"h1": "Cups"}),
            ("A cup costs today. red $9", {"h1": "Cups"}),
            ("Sizes", {"h1": "Cups", "h2": "Sizes"}),
            ("Two sizes.", {"h1": "Cups", "h2": "Sizes"}),
        ],
    ),
    (
        HTMLSectionSplitter(HEADINGS),
        [("Cups A red cup costs $9 today. Ships on Monday.", {"h1": "Cups"}), ("Sizes Two sizes.", {"h2": "Sizes"})],
    ),
):
    seen = [(" ".join(part.page_content.split()), part.metadata) for part in splitter.split_text(PAGE)]
    print(f"{type(splitter).__name__}: {seen}")
    assert seen == expected, f"the behaviour has changed; expected {expected}"

markdown = "# Cups\n\n- red\n    - small\n\n```python\nif stock:\n    buy()\n```\n"
[part] = MarkdownHeaderTextSplitter([("#", "h1")]).split_text(markdown)
print(repr(part.page_content))
assert part.page_content == "- red\n- small  \n```python\nif stock:\nbuy()\n```", "the behaviour has changed"
PYTHON
