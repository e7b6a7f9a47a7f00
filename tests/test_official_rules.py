"""What the public evaluators say, rule by rule, and where they differ: WebArena's, VisualAgentBench's and WebAgent-R1's."""

from contextlib import contextmanager

import pytest

from tests.pages import page
from webarena_gym.errors import EvaluationError, ScriptError
from webarena_gym.evaluators import RULES, Outcome, View, check, evaluate, no_scripts, official
from webarena_gym.evaluators.comparisons import tokens
from webarena_gym.evaluators.official import parse_call
from webarena_gym.tasks.task import parse_task

ALL = ("webarena", "vab", "r1")
LITE = ("vab", "r1")
URLS = {"__SHOPPING__": "http://shop.test", "__REDDIT__": "http://forum.test"}


def outcome(answer="", url="http://shop.test/bag.html", scripts=None):
    """An ended episode whose pages answer scripts from a table; `scripts` is shared by all pages."""
    opened = []

    def view(address):
        def run(expression):
            opened.append((address, expression))
            said = (scripts or {}).get(expression, ScriptError("nothing there"))
            if isinstance(said, Exception):
                raise said
            return said

        return View(page("<p>page", url=address), run if scripts is not None else no_scripts)

    @contextmanager
    def open_page(address):
        yield view(address)

    made = Outcome(answer, view(url), open_page, {}.__getitem__, URLS)
    return made, opened


def passes(block, answer="", *, rules, judge=None, **ended):
    return all(verdict.passed for verdict in evaluate(block, "Which?", outcome(answer, **ended)[0], judge, rules))


def string(note="", **references):
    return {"eval_types": ["string_match"], "reference_answers": references, "string_note": note}


def url(reference, note=None):
    return {"eval_types": ["url_match"], "reference_url": reference, "url_note": note}


def html(locator, required, address="last", **more):
    return {
        "eval_types": ["program_html"],
        "program_html": [{"url": address, "locator": locator, "required_contents": required, **more}],
    }


def where_it_passes(block, answer="", **ended):
    """The rules under which a block passes."""
    return [rules for rules in ALL if passes(block, answer, rules=rules, **ended)]


class TestAnswers:
    @pytest.mark.parametrize(
        ("references", "answer", "where"),
        [
            ({"exact_match": "Red Bag"}, "red bag", ALL),
            ({"exact_match": "Red Bag"}, '"Red Bag"', ALL),
            ({"exact_match": "Red Bag"}, "'Red Bag'", ALL),
            ({"exact_match": "Red Bag"}, "\"'Red Bag'\"", ALL),  # cleaned twice: once as an answer, once to be compared
            ({"exact_match": "Red Bag"}, "the red bag", ()),
            ({"exact_match": "Red Bag"}, " Red Bag\n", ("webarena",)),
            ({"exact_match": "a |OR| b"}, "b", ()),
            ({"exact_match": "N/A"}, "n/a", ALL),
            ({"must_include": ["red", "bag"]}, "a bag, red", ALL),
            ({"must_include": ["red", "bag"]}, "a bag", ()),
            ({"must_include": ["cat"]}, "concatenate", ("webarena",)),
            ({"must_include": ["170"]}, "000000170", ("webarena",)),
            ({"must_include": ["0"]}, "$0.00", ()),
            ({"must_include": ["0"]}, "it is 0.", ALL),
            ({"must_include": ["0", "x"]}, "$0.00 x", ("webarena",)),  # a lone character is a token only when it is alone
            ({"must_include": ["gpl"]}, "MIT/GPL", ALL),
            ({"must_include": ["gpl"]}, "the MIT/BSD/GPL/X11 one", ALL),
            ({"must_include": ["gp"]}, "MIT/GPL", ("webarena",)),
            ({"must_include": ["2"]}, "The answer is 2. There is no other", ()),  # "2." is one token before a lower-case word
            ({"must_include": ["2"]}, "The answer is 2! There is no other", ALL),
            ({"must_include": ["2"]}, "The answer is 2. 3 others are not", ALL),
            ({"must_include": ["red bag"]}, "infrared bags", ALL),
            ({"must_include": ["cat |OR| dog"]}, "a dog", LITE),
            ({"must_include": ["cat |OR| dog"]}, "the cat |or| dog", ALL),
            ({"must_include": "cat"}, "a cat", ALL),
        ],
    )
    def test_exact_match_and_must_include(self, references, answer, where):
        assert where_it_passes(string(**references), answer) == list(where)

    @pytest.mark.parametrize(
        ("references", "answer", "passed"),
        [
            ({"must_exclude": ["cat"]}, "a dog", True),
            ({"must_exclude": ["cat"]}, "a cat", False),
            ({"must_exclude": ["cat"]}, "concatenate", True),
            ({"must_exclude": ["a cat"]}, "aha catalogue", False),
            ({"must_exclude": ["gpl"]}, "mit/gpl", True),  # only must_include looks behind a slash
            ({"required_values": [">= 3", "< 5"]}, "4", True),
            ({"required_values": [">= 3", "< 5"]}, "6", False),
            ({"required_values": ["< 5"]}, "5", True),  # the public code's tolerance lets the bound pass
            ({"required_values": ["> 5"]}, "5", True),
            ({"required_values": ["> 5"]}, "4", False),
            ({"required_values": ["== 3 |OR| == 1200"]}, "1,200", True),
            ({"required_values": ["<= 3"]}, "2.5", False),  # whole numbers only
            ({"required_values": ["<= 3"]}, "two", False),
            ({"one_of": ["Cat", "dog"]}, "concatenate", True),
            ({"one_of": ["cat", "dog"]}, "bird", False),
        ],
    )
    def test_comparisons_that_only_vab_and_r1_have(self, references, answer, passed):
        for rules in LITE:
            assert passes(string(**references), answer, rules=rules) is passed
        with pytest.raises(EvaluationError, match="has no comparison"):
            check(string(**references), "webarena")

    def test_a_product_of_all(self):
        block = string(exact_match="a cat", must_include=["cat"])
        assert where_it_passes(block, "a cat") == list(ALL)
        assert where_it_passes(block, "cat") == []


class TestFuzzyMatches:
    def asking(self, references, answer, rules, said=True, note=""):
        asked = []

        def judge(*question):
            asked.append(question)
            return said

        block = string(note, fuzzy_match=references)
        (verdict,) = evaluate(block, "Which?", outcome(answer)[0], judge, rules)
        return verdict, asked

    def test_webarena_asks_for_each_reference_and_the_others_for_all_at_once(self):
        assert [one[1] for one in self.asking(["3 km", "5 min"], "Both", "webarena")[1]] == ["3 km", "5 min"]
        for rules in LITE:
            verdict, asked = self.asking(["3 km", "5 min"], "Both", rules)
            assert asked == [("Which?", "3 km, 5 min", "both")]
            assert verdict.decided_by == "judge judge"
            assert verdict.passed

    def test_what_the_judge_refuses_fails(self):
        for rules in ALL:
            assert not self.asking(["3 km"], "4 km", rules, said=False)[0].passed

    def test_webarena_judges_no_empty_answer(self):
        verdict, asked = self.asking(["3 km"], "", "webarena")
        assert (verdict.passed, asked) == (False, [])
        for rules in LITE:
            assert len(self.asking(["3 km"], "", rules)[1]) == 1

    @pytest.mark.parametrize("rules", ALL)
    def test_not_available_is_said_so_or_by_its_reason(self, rules):
        verdict, asked = self.asking("N/A", "N/A", rules, note="there is no such shop")
        assert (verdict.passed, verdict.decided_by, asked) == (True, "equal text", [])
        verdict, asked = self.asking("N/A", "The shop does not exist", rules, note="there is no such shop")
        assert verdict.passed
        assert "there is no such shop" in asked[0][1]
        assert not self.asking("N/A", "Blue", rules, said=False, note="there is no such shop")[0].passed

    @pytest.mark.parametrize("rules", ALL)
    def test_not_available_in_a_list_is_judged_like_any_other(self, rules):
        verdict, asked = self.asking(["N/A"], "n/a", rules)
        assert verdict.passed
        assert asked == [("Which?", "N/A", "n/a")]

    @pytest.mark.parametrize("rules", ALL)
    @pytest.mark.parametrize(
        ("references", "answer", "passed"),
        [
            (["$1,234.50"], "It cost 1234.5 dollars", True),
            (["driving: 13min", "walking: 1h 45min"], "driving: 13min; walking: 1h 45min", True),
            (["driving: 13min", "walking: 1h 45min"], "driving: 13min", False),
            (["blue"], "azure", False),
            ("N/A", "N/A", True),
            (["N/A"], "N/A", True),
            ("N/A", "There is none", False),
        ],
    )
    def test_without_a_judge_kinds_of_values_are_compared(self, rules, references, answer, passed):
        (verdict,) = evaluate(string("none", fuzzy_match=references), "", outcome(answer)[0], None, rules)
        assert verdict.passed is passed
        assert verdict.decided_by == ("equal text" if references == "N/A" else "typed comparison")


class TestPlaces:
    @pytest.mark.parametrize(
        ("reference", "at", "where"),
        [
            ("__SHOPPING__/bag.html", "http://shop.test/bag.html", ALL),
            ("__SHOPPING__/bag.html", "http://shop.test/bag.html/", ALL),
            ("__SHOPPING__/bag.html", "http://shop.test/bag.html//", ("webarena",)),
            ("__SHOPPING__/bag.html", "http://shop.test/bag.html?size=2", ("webarena",)),
            ("__SHOPPING__/bag", "http://shop.test/bags/red", ("webarena",)),
            ("__SHOPPING__/bag?size=2", "http://shop.test/bag?colour=red&size=2", ("webarena",)),
            ("__SHOPPING__/bag?size=2", "http://shop.test/bag?size=3", ()),
            ("__SHOPPING__/bag/?size=2", "http://shop.test/bag/?size=2", ALL),
            ("__SHOPPING__/bag/?size=2", "http://shop.test/bag?size=2", ()),  # a "/" before "?" counts
            ("__SHOPPING__/bag?size=2", "http://shop.test/bag/?size=2", ("webarena",)),
            ("__SHOPPING__/a?s=1 |OR| __SHOPPING__/b?s=2", "http://shop.test/a?s=2", ("webarena",)),  # mixed as published
            ("__SHOPPING__/a |OR| __SHOPPING__/b", "http://shop.test/b", ALL),
            ("http://localhost:80/a", "http://127.0.0.1:80/a", LITE),
        ],
    )
    def test_without_a_note(self, reference, at, where):
        assert where_it_passes(url(reference), url=at) == list(where)

    @pytest.mark.parametrize(
        ("reference", "at", "where"),
        [
            ("__SHOPPING__/bag", "http://shop.test/bags?x=1", ALL),
            ("__SHOPPING__/bag?size=2", "http://shop.test/bag?size=2&colour=red", ALL),
            ("__SHOPPING__/bag?size=2", "http://shop.test/bag?colour=red&size=2", ("webarena",)),
            ("__SHOPPING__/bag?size=2", "http://shop.test/bag?size=22", LITE),
            ("__SHOPPING__/bag", "http://other.test/", ()),
        ],
    )
    def test_gold_in_pred(self, reference, at, where):
        assert where_it_passes(url(reference, "GOLD in PRED"), url=at) == list(where)

    def test_exact_is_unknown_to_webarena(self):
        assert passes(url("__SHOPPING__/bag.html", "EXACT"), rules="vab")
        with pytest.raises(EvaluationError, match="no rule 'EXACT'"):
            check(url("__SHOPPING__/bag.html", "EXACT"), "webarena")

    @pytest.mark.parametrize("rules", ALL)
    def test_the_verdict_names_its_rule(self, rules):
        (verdict,) = evaluate(url("__SHOPPING__/bag.html", "GOLD in PRED"), "", outcome()[0], None, rules)
        assert verdict.decided_by == "GOLD in PRED"


def whole(text):
    return {official._WHOLE_PAGE: text}


class TestPages:
    @pytest.mark.parametrize(
        ("locator", "scripts", "required", "where"),
        [
            ("", whole("<td>80</td>"), {"must_include": ["80"]}, ALL),
            ("", whole("<td>1080</td>"), {"must_include": ["80"]}, ("webarena",)),
            ("", whole("<td>salt &amp; pepper</td>"), {"must_include": ["salt & pepper"]}, ("webarena",)),
            ("", whole("<td>salt &amp; pepper</td>"), {"must_include": ["salt &amp; pepper"]}, LITE),
            ("document.title", {"document.title": "A b"}, {"exact_match": "a B"}, ALL),
            ("document.title", {"document.title": " A b "}, {"exact_match": "a B"}, ("webarena",)),
            ("document.title", {"document.title": "x b"}, {"must_include": ["a |OR| b"]}, ALL),
            ("document.title", {"document.title": "a/b"}, {"must_include": ["b"]}, ALL),
            ("document.title", {"document.title": "a"}, {"must_exclude": ["a"], "must_include": ["a"]}, ALL),  # the first alone
            ("document.title", {"document.title": "a"}, {"must_include": ["b"], "exact_match": "a"}, ALL),
            ("document.title", {"document.title": "a"}, {"must_include": ["a"], "fuzzy_match": ["b"]}, ALL),
            ("document.x.checked", {"document.x.checked": True}, {"exact_match": "true"}, ALL),
            ("document.x.selectedIndex", {"document.x.selectedIndex": 2}, {"exact_match": "2"}, ALL),
            ("document.x", {"document.x": None}, {"exact_match": "None"}, ALL),  # str(None), as published
            ("document.gone", {}, {"exact_match": ""}, ALL),  # a script that throws finds an empty text
            ("document.gone", {}, {"must_include": ["x"]}, ()),
            ("[...document.links].join()", {"[...document.links].join()": "u v"}, {"must_include": ["u", "v"]}, ALL),
        ],
    )
    def test_contents(self, locator, scripts, required, where):
        assert where_it_passes(html(locator, required), scripts=scripts) == list(where)

    @pytest.mark.parametrize("rules", LITE)
    @pytest.mark.parametrize(
        ("said", "required", "passed"),
        [
            ("a cat", {"must_exclude": ["cat"]}, False),
            ("a dog", {"must_exclude": ["cat"]}, True),
            ("1,200", {"required_values": ["> 1000", "<= 1200"]}, True),
            (7, {"required_values": ["> 10"]}, False),
            ("5 dollars", {"fuzzy_match": ["$5.00"]}, True),
            ("6 dollars", {"fuzzy_match": ["$5.00"]}, False),
        ],
    )
    def test_contents_that_only_vab_and_r1_have(self, rules, said, required, passed):
        assert passes(html("document.x", required), rules=rules, scripts={"document.x": said}) is passed
        with pytest.raises(EvaluationError, match="has no comparison"):
            check(html("document.x", required), "webarena")

    def test_functions_of_javascript_are_known_to_vab_and_r1(self):
        block = html("lambda:() => 7", {"exact_match": "7"})
        for rules in LITE:
            assert passes(block, rules=rules, scripts={"(() => 7)()": 7})
            for nothing in (None, "", 0):
                assert not passes(html("lambda:() => 7", {"exact_match": ""}), rules=rules, scripts={"(() => 7)()": nothing})
        with pytest.raises(EvaluationError, match="locator"):
            check(block, "webarena")

    @pytest.mark.parametrize("rules", ALL)
    def test_preparations_come_first_and_may_throw(self, rules):
        block = html("document.x", {"exact_match": "seen"}, prep_actions=["document.a.click()", "document.b.click()"])
        ended, opened = outcome(scripts={"document.a.click()": None, "document.b.click()": None, "document.x": "seen"})
        assert evaluate(block, "", ended, None, rules)[0].passed
        assert [script for _, script in opened] == ["document.a.click()", "document.b.click()", "document.x"]
        ended, opened = outcome(scripts={"document.b.click()": None, "document.x": "seen"})
        assert evaluate(block, "", ended, None, rules)[0].passed
        assert [script for _, script in opened] == ["document.a.click()", "document.x"]  # the first to throw is the last

    @pytest.mark.parametrize("rules", ALL)
    def test_several_targets_on_pages_of_their_own(self, rules):
        block = html("document.x", {"exact_match": "seen"}, "__SHOPPING__/wishlist/")
        block["program_html"] += html("document.x", {"exact_match": "seen"}, "func:reddit_get_post_url('__last_url__')")[
            "program_html"
        ]
        block["program_html"] += html("document.x", {"exact_match": "other"})["program_html"]
        ended, opened = outcome(url="http://forum.test/f/pics/7/title/-/comment/9", scripts={"document.x": "seen"})
        assert [verdict.passed for verdict in evaluate(block, "", ended, None, rules)] == [True, True, False]
        assert [address for address, _ in opened] == [
            "http://shop.test/wishlist/",
            "http://forum.test/f/pics/7/",
            "http://forum.test/f/pics/7/title/-/comment/9",
        ]

    @pytest.mark.parametrize("rules", ALL)
    def test_placeholders_stand_in_contents_too(self, rules):
        block = html("document.x", {"must_include": ["see __REDDIT__/f/pics"]})
        assert passes(block, rules=rules, scripts={"document.x": "see http://forum.test/f/pics/7"})

    @pytest.mark.parametrize("rules", ALL)
    def test_roles_of_members_are_found_by_script(self, rules):
        block = html("func:gitlab_get_project_memeber_role(__page__, 'o\"hara')", {"exact_match": "Developer"})

        class Table(dict):
            def get(self, script, default):
                return "developer" if '"o\\"hara"' in script else default

        ended, _ = outcome(scripts=Table(x=1))
        assert evaluate(block, "", ended, None, rules)[0].passed
        assert not passes(block, rules=rules, scripts={})

    @pytest.mark.parametrize("rules", ALL)
    def test_a_page_that_cannot_be_reached_is_no_verdict_on_the_agent(self, rules):
        ended, _ = outcome(scripts={"document.x": ""})

        @contextmanager
        def open_page(address):
            yield View(page("<p>", url=address), lambda _: "", reached=False)

        lost = Outcome("", ended.final, open_page, ended.database, URLS)
        with pytest.raises(EvaluationError, match="cannot be reached"):
            evaluate(html("document.x", {"exact_match": "x"}, "__SHOPPING__/x"), "", lost, None, rules)
        own = html("document.x", {"exact_match": "x"}, "func:reddit_get_post_url('__last_url__')")
        assert not evaluate(own, "", lost, None, rules)[0].passed  # an address that follows from the agent's own

    @pytest.mark.parametrize("rules", ALL)
    def test_a_browser_without_scripts_says_the_way_out(self, rules):
        with pytest.raises(EvaluationError, match="browser='chromium'"):
            evaluate(html("document.title", {"exact_match": "x"}), "", outcome()[0], None, rules)
        with pytest.raises(EvaluationError, match="browser='chromium'"):
            evaluate(html("", {"must_include": ["x"]}), "", outcome()[0], None, rules)


class TestWhatIsNotKnown:
    @pytest.mark.parametrize("rules", ALL)
    @pytest.mark.parametrize(
        ("block", "said"),
        [
            ({"eval_types": []}, "no checks"),
            ({"eval_types": ["state"], "state": []}, "no evaluator 'state'"),
            (string(), "without reference_answers"),
            (string(nearly="x"), "no comparison 'nearly'"),
            (string(exact_match=["x"]), "expected a text"),
            (string(must_include=[]), "expected a text or a list"),
            (string(must_include=[3]), "expected a text or a list"),
            (string(fuzzy_match=None), "expected a text or a list"),
            (url(""), "without reference_url"),
            (url(None), "without reference_url"),
            (url("x", "NEARLY"), "no rule 'NEARLY'"),
            ({"eval_types": ["program_html"], "program_html": []}, "without targets"),
            (html("p.price", {"exact_match": "x"}), "neither empty nor a script"),
            (html("", {}), "no required_contents"),
            (html("", {"exact_match": "x", "contains": ["x"]}), "no comparison 'contains'"),
            (html("", {"exact_match": "x"}, more=1), "no 'more'"),
            ({"eval_types": ["program_html"], "program_html": ["last"]}, "expected an object"),
            ({"eval_types": ["program_html"], "program_html": [{"url": "last", "locator": ""}]}, "has required_contents None"),
            (html(None, {"exact_match": "x"}), "has locator None"),
            (html("", {"exact_match": "x"}, 3), "has url 3"),
            (html("", {"exact_match": "x"}, prep_actions="document.x.click()"), "expected a list"),
            (html("func:os.system('x')", {"exact_match": "x"}), "no call"),
            (html("func:__import__('os')", {"exact_match": "x"}), "no helper function '__import__'"),
            (html("func:reddit_get_post_url(open('x'))", {"exact_match": "x"}), "arguments must be texts"),
            (html("func:reddit_get_post_url()", {"exact_match": "x"}), "missing a required argument"),
            (html("func:reddit_get_post_url('a', 'b')", {"exact_match": "x"}), "too many"),
            (html("func:reddit_get_post_url(url='a')", {"exact_match": "x"}), "expected name"),
            (html("func:reddit_get_post_url(", {"exact_match": "x"}), "no call"),
            (html("", {"exact_match": "x"}, "func:nothing()"), "no helper function 'nothing'"),
            (html("", {"exact_match": "x"}, "func:reddit_get_post_url('x') or 1"), "no call"),
        ],
    )
    def test_raises_before_anything_is_judged(self, rules, block, said):
        with pytest.raises(EvaluationError) as caught:
            check(block, rules)
        assert said in str(caught.value)

    @pytest.mark.parametrize("bound", ["about 3", "> x", "3 > 2", ">"])
    def test_no_bound(self, bound):
        with pytest.raises(EvaluationError, match="expected a bound"):
            check(string(required_values=[bound]), "vab")

    def test_must_exclude_has_no_choices(self):
        with pytest.raises(EvaluationError, match="choices"):
            check(html("", {"must_exclude": ["a |OR| b"]}), "r1")

    def test_rules(self):
        with pytest.raises(EvaluationError, match="native, webarena, vab, r1, verified"):
            check(string(exact_match="x"), "hard")
        assert tuple(RULES) == ("native", *ALL, "verified")

    def test_without_nltk(self, monkeypatch):
        tokens.cache_clear()
        monkeypatch.setitem(__import__("sys").modules, "nltk.tokenize.destructive", None)
        with pytest.raises(EvaluationError, match="pip install nltk"):
            passes(string(must_include=["x"]), "x", rules="vab")
        assert passes(string(must_include=["xy"]), "xyz", rules="webarena")  # needs no words


def test_words_are_cut_sentence_by_sentence():
    assert tokens("it is so. it is $0.00! done") == ("it", "is", "so", ".", "it", "is", "$", "0.00", "!", "done")


@pytest.mark.parametrize("number", ["2", "-2", "1,200", "3.5", "2022-01-02", ".5", "b"])
@pytest.mark.parametrize(
    ("rest", "ends"),
    [("there is", False), ("a", False), (", there", False), ("1 more", True), ("(there", True), ("$5", True), ("", True)],
)
def test_a_number_or_a_letter_ends_a_sentence_only_before_what_is_no_word(number, rest, ends):
    """Punkt takes it for an ordinal or an initial before a lower-case word, and answers are in lower case."""
    assert (number in tokens(f"it is {number}. {rest}".strip())) is ends


@pytest.mark.parametrize("word", ["$5", "5%", "#3", "x2", "ten", "(2"])
def test_everything_else_ends_a_sentence(word):
    assert f"{word[-1]}." not in "".join(tokens(f"it is {word}. there is")[:-2]).replace(".", " .")
    assert "." in tokens(f"it is {word}. there is")


def test_sentences_take_linear_time():
    assert len(tokens("2. " * 3_000)) >= 3_000
    assert len(tokens("2" * 100_000 + ". a")) == 2


def test_calls_are_read_and_not_evaluated():
    assert parse_call("func:shopping_get_latest_order_url()") == ("shopping_get_latest_order_url", ())
    assert parse_call("func:reddit_get_post_url('__last_url__')") == ("reddit_get_post_url", ("__last_url__",))


def test_notes_of_a_task_belong_into_its_evaluation():
    record = {"task_id": 7, "sites": ["reddit"], "start_url": "__REDDIT__", "intent": "Which?", "eval": string(exact_match="x")}
    task = parse_task({**record, "annotation_note": "1 + 1"})
    assert task.eval == {"annotation_note": "1 + 1", **record["eval"]}
    del record["eval"]["string_note"]
    assert parse_task({**record, "string_note": "why"}).eval["string_note"] == "why"
