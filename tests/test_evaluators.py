"""No task file makes judging slow: what is too large is refused when it is read, and within the limits work grows with its input.

Every eval kind is tried under every set of rules that knows it; `verified` is left out, which another package judges by a number.
"""

import json
import sqlite3
from contextlib import nullcontext
from random import Random
from time import process_time

import gymnasium
import pytest
from lxml.cssselect import CSSSelector

from tests.errors import expect_error
from tests.growth import outgrown, text_of
from tests.pages import page
from webarena_gym.env import WebArenaLite
from webarena_gym.errors import EvaluationError, TaskError
from webarena_gym.evaluators import Outcome, View, check, evaluate
from webarena_gym.evaluators.kinds import eval_kinds, program_html
from webarena_gym.evaluators.kinds.file import file_holds
from webarena_gym.evaluators.kinds.http import answers_json
from webarena_gym.evaluators.kinds.state import state
from webarena_gym.evaluators.kinds.string_match import answer
from webarena_gym.evaluators.kinds.url_match import at_url
from webarena_gym.evaluators.official import RULE_SETS
from webarena_gym.evaluators.outcome import OR
from webarena_gym.tasks import parse_task

OFFICIAL = tuple(RULE_SETS)
NATIVE = ("exact_match", "must_include", "must_exclude", "fuzzy_match")
TASK = {"task_id": 7, "sites": ["shopping"], "start_url": "__SHOPPING__", "intent": "How many orders are there?"}
FLOOR_S = 0.001
FEW, MEANINGS, CHECKS, MANY, LONG = 15, 180, 90, 960, 15_360
"""Sizes: the first of all, and the last of what is compared by meaning, of checks, of values and of texts in characters."""

UNITS = ("a", "a ", " ", '. " ', "1 ", "1, ", "$", "-", "a/", ".", "\n", '"', "' ", "| ", "a: b; ")
"""What long texts repeat."""
MOST_S = 1.0  # CPU seconds of a comparison of the largest lists that a task may have


def page_block(url="last", locator="", **contents):
    return {"eval_types": ["program_html"], "program_html": [{"url": url, "locator": locator, "required_contents": contents}]}


def ended(text="", url="http://shop.test/bag?a=1", html="<p>page</p>", database=None, **more):
    """An ended episode; every page that is opened has the same content."""

    def view(address):
        return View(page(html, url=address), lambda _: html)

    return Outcome(text, view(url), lambda address: nullcontext(view(address)), {"shopping": database}.__getitem__, {}, **more)


def references_of(approach, count):
    """So many references of a comparison."""
    return [f">= {number}" if approach == "required_values" else f"w{number}" for number in range(count)]


def comparisons(rules, part):
    return NATIVE if rules == "native" else tuple(getattr(RULE_SETS[rules], part))


def many(approach):
    return MEANINGS if approach == "fuzzy_match" else MANY


def references(rules, part, make_block, outcome):
    """Yield the lists and the choices of references that may grow in the comparisons of a part of a task, "answers" or "contents"."""
    is_native = rules == "native"
    for approach in comparisons(rules, part):
        if is_native or approach != "exact_match":
            yield (
                rules,
                f"{approach}, list",
                many(approach),
                lambda n, a=approach: (make_block(**{a: references_of(a, n)}), outcome),
            )
        if is_native or approach not in ("must_exclude", "one_of"):
            yield (
                rules,
                f"{approach}, choices",
                many(approach),
                lambda n, a=approach: (make_block(**{a: OR.join(references_of(a, n))}), outcome),
            )


def answers():
    """Yield what may grow in a check of the answer: (rules, what, last size, function of a size to block and outcome)."""
    for rules in ("native", *OFFICIAL):
        yield from references(rules, "answers", answer, ended("7 w"))
        for approach in comparisons(rules, "answers"):
            for start, unit in (*(("", unit) for unit in UNITS), ('x."', " ")):
                yield (
                    rules, f"{approach}, answer of {start!r} and {unit!r}", LONG,
                    lambda n, a=approach, s=start, u=unit: (answer(**{a: references_of(a, 1)[0]}), ended(text_of(s, u, n))),
                )  # fmt: skip
                if approach in ("exact_match", "must_include", "must_exclude", "one_of"):
                    yield (
                        rules, f"{approach}, reference of {unit!r}", LONG,
                        lambda n, a=approach, u=unit: (answer(**{a: text_of("", u, n)}), ended(text_of("", u, 2_000))),
                    )  # fmt: skip
    for key in ("about", "yes", "no"):
        yield (
            "native",
            f"asked, {key}",
            MANY,
            lambda n, k=key: ({**answer(fuzzy_match="no"), "asked": {k: references_of("", n)}}, ended("w1 x")),
        )


def places():
    """Yield what may grow in a check of the address."""
    for rules in ("native", *OFFICIAL):
        yield rules, "choices", MANY, lambda n: (at_url(OR.join(f"http://shop.test/{i}?a={i}" for i in range(n))), ended())
        yield (
            rules,
            "values of a key",
            LONG // 2,
            lambda n: (at_url("http://shop.test/bag?" + "&".join(f"a={i}" for i in range(n))), ended()),
        )
        yield (
            rules,
            "keys",
            LONG // 2,
            lambda n: (at_url("http://shop.test/bag?" + "&".join(f"k{i}=1" for i in range(n))), ended()),
        )
        for unit in ("a=1&", "a", "/", "%41", "&", "é"):
            yield (
                rules, f"address of {unit!r}", LONG,
                lambda n, u=unit: (at_url("http://shop.test/bag?a=1"), ended(url=text_of("http://shop.test/bag?", u, n))),
            )  # fmt: skip

        def called(n):
            return at_url(OR.join(f"http://shop.test/{i}" for i in range(n))), ended(
                html='<head><link rel="canonical" href="http://shop.test/x"><link rel="self" href="http://shop.test/x"></head>',
                has_page_identities=True,
            )

        yield rules, "choices, of pages that say what they are", MANY, called


def contents():
    """Yield what may grow in a check of pages."""
    for rules in ("native", *OFFICIAL):
        yield from references(rules, "contents", page_block, ended())
        for approach in comparisons(rules, "contents"):
            for unit in UNITS:
                yield (
                    rules, f"{approach}, page of {unit!r}", LONG,
                    lambda n, a=approach, u=unit: (page_block(**{a: references_of(a, 1)}), ended(html=f"<p>{text_of('', u, n)}")),
                )  # fmt: skip

        def targets(n):
            target = page_block("http://shop.test/", must_include=["x"])["program_html"][0]
            return {"eval_types": ["program_html"], "program_html": [target] * n}, ended()

        yield rules, "targets", CHECKS, targets
    for locator in ("li", "div li", "ul > li", "li + li", "li ~ li", "* * *", "div li, p ~ li"):
        for start in ("<ul>", "<div>" * 100):
            yield (
                "native", f"{locator!r} in {start[:5]}", 5_000,
                lambda n, css=locator, s=start: (page_block(locator=css, must_include=["x"]), ended(html=s + "<li>a</li>" * n)),
            )  # fmt: skip
    for locator in ("a, ", "a ", "a > ", ".a", "[a]", ":not(a)", "a ~ "):
        yield (
            "native", f"a locator of {locator!r}", 1_900,
            lambda n, css=locator: (page_block(locator=f"{css * (n // len(css))}a", must_include=["x"]), ended()),
        )  # fmt: skip
    for part in ("'a', ", "(", "-", "a.", "'a' ", "[", "1", "\\"):
        yield (
            "vab", f"a call of {part!r}", LONG,
            lambda n, p=part: (page_block(locator=f"func:reddit_get_post_url({p * (n // len(p))}", must_include=["x"]), ended()),
        )  # fmt: skip


def states():
    """Yield what may grow in a check of a database."""
    empty = sqlite3.connect(":memory:", isolation_level=None)

    def rows(n):
        return "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n LIMIT " + str(n)

    def block(n, query, expected=(), parameters=()):
        return state(query, *parameters, expected=list(expected), site="shopping"), ended(database=empty)

    yield "native", "rows expected", MANY * 8, lambda n: block(n, "SELECT 1", [[i] for i in range(n)])
    yield "native", "rows found", MANY * 8, lambda n: block(n, rows(n), [[i + 1] for i in range(n)])
    yield "native", "rows found in another order", MANY * 8, lambda n: block(n, rows(n), [[n - i] for i in range(n)])
    yield "native", "columns", MANY, lambda n: block(n, "SELECT " + ", ".join(map(str, range(n))), [[1]])
    yield "native", "parameters", MANY, lambda n: block(n, f"SELECT 1 IN ({', '.join('?' * n)})", [[1]], range(n))
    yield "native", "checks", CHECKS, lambda n: (
        {"eval_types": ["state"], "state": state("SELECT 1", expected=[[1]], site="shopping")["state"] * n}, ended(database=empty),
    )  # fmt: skip
    for unit in ("a", "'", "a.", "(SELECT instr(", " FROM ", "count(", "_"):
        yield "native", f"a column named {unit!r}", LONG // 2, lambda n, u=unit: block(n, f'SELECT 1 AS "{u * (n // len(u))}"')


def files(folder):
    """Yield what may grow in a check of files."""
    for size in range(3):  # of a file, of the text that it must hold, and of the text that it must equal
        for unit in (*UNITS, "\0", "\x80abcd"):

            def work(n, size=size, unit=unit):
                (folder / "a").write_text(text_of("", unit, 2_000 if size == 1 else n))
                conditions = (
                    {"contains": "tea" if size == 0 else text_of("", unit, n)}
                    if size < 2
                    else {"equals": text_of("", unit, n) + "!"}
                )
                return file_holds("a", **conditions), ended(files=folder)

            yield "native", f"{('file', 'text', 'equal text')[size]} of {unit!r}", LONG, work
    yield "native", "checks", CHECKS, lambda n: (
        {"eval_types": ["file"], "file": file_holds("a", "tea")["file"] * n}, ended(files=folder),
    )  # fmt: skip
    yield "native", "path", LONG, lambda n: (file_holds("a/" * (n // 2), "tea"), ended(files=folder))

    def values(n):
        (folder / "a").write_text(f"[{'1, ' * n}1]")
        return file_holds("a", json_path="0", equals=2), ended(files=folder)

    yield "native", "values of JSON", LONG, values
    yield "native", "path of JSON", LONG, lambda n: (file_holds("a", json_path="a." * (n // 2), equals=1), ended(files=folder))


def requests():
    """Yield what may grow in a check over HTTP."""

    def json_check(html, path="a", expected=1):
        return answers_json("http://shop.test/", path, expected), ended(html=f"<p>{html}</p>")

    yield "native", "path", LONG, lambda n: json_check('{"a": 1}', "a." * (n // 2))
    yield "native", "answer", LONG, lambda n: json_check(f"[{'1, ' * n}1]")
    yield "native", "depth", LONG, lambda n: json_check("[" * n)
    yield "native", "expected", MANY, lambda n: json_check("[1]", "", [1] * n)
    yield "native", "checks", CHECKS, lambda n: (
        {"eval_types": ["http"], "http": answers_json("http://shop.test/", "a", 1)["http"] * n}, ended(),
    )  # fmt: skip


@pytest.mark.parametrize("kind", [name for name in eval_kinds() if name not in ("verified", "verifier")])
@pytest.mark.sampled(2)
def test_judging_takes_linear_time(kind, tmp_path):
    growing = {
        "string_match": answers, "url_match": places, "program_html": contents, "state": states,
        "file": lambda: files(tmp_path), "http": requests,
    }  # fmt: skip
    tried, slow = set(), []
    for rules, what, last, make in growing[kind]():
        tried.add(rules)

        def work(size, make=make, rules=rules):
            block, outcome = make(size)

            def judge():
                try:
                    evaluate(block, "How many orders are there?", outcome, None, rules)
                except EvaluationError as error:
                    if "expected at most" in str(error):  # refused, not judged
                        raise

            return judge

        if "fuzzy_match" in what:  # items of lists are compared pair by pair; references have a limit
            run, start = work(last), process_time()
            run()
            if (seconds := process_time() - start) > MOST_S:
                slow.append(f"{rules}, {what}: {seconds:.2f} s at size {last}")
        elif problem := outgrown(work, FEW, last, FLOOR_S):
            slow.append(f"{rules}, {what}: {problem}")
    assert slow == []
    assert tried == eval_kinds()[kind].readers.keys()


def test_selectors_find_what_lxml_finds():
    rng = Random(52)

    def tree(depth):
        if not depth:
            return rng.choice(("text", "<!-- no element -->", "<br>"))
        inner = "".join(tree(rng.randrange(depth)) for _ in range(rng.randrange(5)))
        return f"<{(name := rng.choice(('div', 'ul', 'li', 'span')))} class={rng.choice('xyz')}>{inner}</{name}>"

    parts = (
        "div",
        "li",
        "*",
        ".x",
        "span.y",
        "span:not(.x)",
        "li:nth-child(2)",
        "ul:first-child",
        "[class=z]",
        ":root",
        "body",
    )
    found = 0
    for _ in range(60):
        root = page(f"<body>{''.join(tree(5) for _ in range(3))}").root
        for _ in range(10):
            chains = [rng.choices(parts, k=rng.randint(1, 4)) for _ in range(rng.randint(1, 2))]
            css = ", ".join(
                "".join(f"{part}{rng.choice((' ', ' > ', ' + ', ' ~ '))}" for part in chain[1:]) + chain[0] for chain in chains
            )
            references_of = CSSSelector(css, translator="html")(root)
            assert program_html._selector(css)(root) == references_of, css
            found += bool(references_of)
    assert found > 100


BASE = "http://shop.test/"
TOO_LARGE = {
    "references": (answer(must_include=["x"] * 2_000), "reference_answers with 2,002 values"),
    "choices": (answer(must_include=[OR.join(["x"] * 20_000)]), "reference_answers with 20,002 values"),
    "meanings": (
        answer(fuzzy_match=[str(number) for number in range(300)]),
        "reference_answers with 300 strings, choices and list items",
    ),
    "one text of meanings": (answer(fuzzy_match="; ".join(map(str, range(3_000)))), "reference_answers with 3,000 strings"),
    "lines of meanings": (answer(fuzzy_match="1\n" * 300), "reference_answers with 301 strings"),
    "a long reference": (answer(exact_match="x" * 200_000), "reference_answers with 200,0.. characters"),
    "names": ({**answer(fuzzy_match="3"), "asked": {"about": ["x"] * 2_000}}, "asked with 2,002 values"),
    "addresses": (at_url(OR.join([BASE] * 3_000)), "reference_url with 3,000 values"),
    "targets": (
        {"eval_types": ["program_html"], "program_html": page_block()["program_html"] * 101},
        "program_html with 101 checks",
    ),
    "meanings on pages": (page_block(fuzzy_match=["x"] * 201), "program_html with 201 strings, choices and list items"),
    "scripts": (page_block(must_include=["x" * 60_000] * 2), "program_html with 120,... characters"),
    "queries": ({"eval_types": ["state"], "state": state("SELECT 1", expected=[[1]])["state"] * 101}, "state with 101 checks"),
    "rows": (state("SELECT 1", expected=[[1]] * 20_000), "state with 40,006 values"),
    "a query": (state("SELECT 1" + " " * 100_000, expected=[[1]]), "state with 100,"),
    "files": ({"eval_types": ["file"], "file": file_holds("a", "")["file"] * 101}, "file with 101 checks"),
    "requests": ({"eval_types": ["http"], "http": answers_json(BASE, "a", 1)["http"] * 101}, "http with 101 checks"),
    "a value": (answers_json(BASE, "a", {"x": list(range(2_000))}), "http with 2,0"),
    "notes": ({**answer(exact_match="x"), "string_note": "x" * 200_000}, "string_note with 200,000 characters"),
}
"""Blocks that are too large, and what an error says of each."""


@pytest.mark.parametrize(("block", "message"), TOO_LARGE.values(), ids=TOO_LARGE)
def test_too_large_checks_are_rejected_when_parsed(block, message):
    with pytest.raises(TaskError, match=rf"task 7: eval has {message}.* expected at most [\d,]+$"):
        parse_task(TASK | {"eval": block})
    for rules in ("native", *OFFICIAL):
        with pytest.raises(EvaluationError, match=message):
            check(block, rules)
        with pytest.raises(EvaluationError, match=message):
            evaluate(block, "", ended(), None, rules)


@pytest.mark.parametrize(("change", "message"), [
    ({"intent": "x" * 20_000}, "intent has 20,000 characters; expected at most 10,000"),
    ({"start_url": "|AND|".join([BASE] * 500)}, "start_url has 500 addresses; expected at most 20"),
    ({"solution": [{"action": "wait()"}] * 2_000}, "solution has 2,000 steps; expected at most 1,000"),
    ({"injection": TOO_LARGE["references"][0]}, "injection: eval has reference_answers with 2,002 values"),
])  # fmt: skip
def test_other_parts_of_a_task_are_bounded_too(change, message):
    with pytest.raises(TaskError, match=f"task 7.*{message}"):
        parse_task(TASK | {"eval": answer(fuzzy_match="3")} | change)


def test_recursive_checks_are_rejected_as_too_deep():
    loop = ["x"]
    loop.append(loop)
    with expect_error(EvaluationError, "reference_answers", 30):
        check(answer(must_include=loop))


def test_a_kind_that_is_named_often_is_judged_once():
    block = at_url(BASE) | {"eval_types": ["url_match"] * 500}
    assert len(evaluate(block, "", ended(url=BASE))) == 1


def test_the_queries_of_a_task_have_one_limit_together():
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 1500000) SELECT max(x) > 0 FROM n"
    database = sqlite3.connect(":memory:", isolation_level=None)
    one = state(endless, expected=[[1]], site="shopping")
    assert evaluate(one, "", ended(database=database))[0].passed
    with expect_error(EvaluationError, "50,000,000"):
        evaluate({**one, "state": one["state"] * 50}, "", ended(database=database))


TARGET = {"url": BASE, "locator": "", "required_contents": {"must_include": ["x"]}}
BAD_ADDRESSES = ("http://[", "http://a]b/", "__SHOPPING__]/", "http://shop.test/ |OR| http://[::1/", "http://\u2100.test/")


def malformed():
    """Yield (rules, eval block, field that an error names)."""
    for rules in ("native", *OFFICIAL):
        for url in BAD_ADDRESSES:
            yield rules, at_url(url), "reference_url"
            if OR not in url:
                yield rules, {"eval_types": ["program_html"], "program_html": [{**TARGET, "url": url}]}, "url of a target"
        for locator in ("func:f(", "func:unknown('x')", "func:__import__('os')"):
            yield rules, {"eval_types": ["program_html"], "program_html": [{**TARGET, "locator": locator}]}, "locator"
            yield rules, {"eval_types": ["program_html"], "program_html": [{**TARGET, "url": locator}]}, "url"
        for actions in ([1], ["x", None], [{}]):
            target = {**TARGET, "locator": "document.title", "prep_actions": actions}
            yield rules, {"eval_types": ["program_html"], "program_html": [target]}, "prep_actions"
    yield "native", {"eval_types": ["program_html"], "program_html": [{**TARGET, "locator": "a["}]}, "locator"
    yield "native", at_url("http://shop.test:99999/"), "reference_url"
    yield "native", answers_json("http://[", "a", 1), "url of a check over HTTP"
    for path in ("../secret", "/etc/passwd", "a/../../b", "a\0b", "\ud800"):
        yield "native", file_holds(path, "x"), "check of a file has path"


@pytest.mark.parametrize(("rules", "block", "field"), list(malformed()))
def test_malformed_checks_are_rejected_with_task_and_field(rules, block, field, tmp_path):
    path = tmp_path / "tasks.json"
    path.write_text(json.dumps([TASK | {"eval": block}]), encoding="utf-8")
    with pytest.raises((TaskError, EvaluationError)) as caught:
        gymnasium.make("WebArenaLite-v0", tasks=path, rules=rules)
    assert "task 7: " in str(caught.value)
    assert field in str(caught.value)
    good = parse_task(TASK | {"eval": at_url(BASE), "world_seed": 7})
    with WebArenaLite(tasks=[good], rules=rules) as env, expect_error((TaskError, EvaluationError), "task 7"):
        env.reset(options={"task": parse_task(TASK | {"eval": block, "world_seed": 7})})


def test_queries_that_reach_their_limit_are_failures(monkeypatch):
    monkeypatch.setattr("webarena_gym.evaluators.kinds.state.MAX_STEPS", 200_000)
    databases = []
    for rows in (300, 3):
        database = sqlite3.connect(":memory:", check_same_thread=False)
        database.execute("CREATE TABLE item (id INTEGER)")
        database.executemany("INSERT INTO item VALUES (?)", [(number,) for number in range(rows)])
        databases.append(database)
    final, initial = ({"shopping": database}.__getitem__ for database in databases)
    check = {"site": "shopping", "query": "SELECT count(*) FROM item a, item b, item c", "expected": [[27]]}
    outcome = Outcome("", None, None, final, {}, initial_database=initial)
    with expect_error(EvaluationError, repr(check["query"]), "200,000"):
        evaluate({"eval_types": ["state"], "state": [check]}, "", outcome)
    assert evaluate({"eval_types": ["state"], "state": [check]}, "", Outcome("", None, None, initial, {}))[0].passed
    for database in databases:
        database.close()
