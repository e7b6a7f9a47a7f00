"""Code and docstrings of `agents` and `benchmarks` use the terms that CONTRIBUTING lists, and not words of our own for the same."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
INSTEAD = {
    "crew": "request pool", "draft": "sequence", "sight": "attention window", "leader": "rank 0", "follower": "worker", "teach": "train",
    "dismiss": "stop the workers", "ticket": "request id", "likeliest": "greedy", "commonest": "most frequent", "lesson": "training batch",
    "leads": "is main",
}  # fmt: skip
"""Words that are not used, each with the term to use."""
FILES = [path for package in ("agents", "benchmarks") for path in sorted((ROOT / package).rglob("*.py"))]


def words_of(tree):
    """Yield the words of all names and docstrings of a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield from re.findall(r"[a-z]+", (ast.get_docstring(node) or "").lower())
        for field in ("id", "attr", "arg", "name"):
            if isinstance(name := getattr(node, field, None), str):
                yield from (word.lower() for word in re.findall(r"[A-Z]?[a-z]+", name))


def test_modules_use_the_terms_which_are_listed_and_words_are_found_in_names_and_docstrings():
    tree = ast.parse(
        'class CrewMember:\n    def ask_leader(self, ticket):\n        """Dismiss it."""\n        self.sight = draft'
    )
    assert {"crew", "leader", "ticket", "dismiss", "sight", "draft"} <= set(words_of(tree))
    used = {path: {word.removesuffix("s") for word in words_of(ast.parse(path.read_text(encoding="utf-8")))} for path in FILES}
    assert [(path, word, INSTEAD[word]) for path, words in used.items() for word in words & set(INSTEAD)] == []
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## Terms")[2].partition("\n## ")[0]
    terms = ("request pool", "sequence, decode batch", "attention window", "rank, rank 0", "worker", "greedy, sampled decoding")
    assert [term for term in terms if term not in text] == []
