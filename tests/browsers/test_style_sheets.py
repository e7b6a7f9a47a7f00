"""Rules, conditions and layers of style sheets."""

import pytest

from webarena_gym.browsers.selectors import FOCUSED, HOVERED
from webarena_gym.browsers.style_sheets import StyleRule, media_matches, read_style_sheets, style_declarations

HIDES = (("display", "none", False),)


def read(text, **files):
    return read_style_sheets([("http://a.test/", text)], lambda _, name: (name, files[name]) if name in files else None)


def rules(text, **files):
    return [(rule.selector, rule.declarations) for rule in read(text, **files).rules]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("p { display: none }", [("p", HIDES)]),
        ("p, .x > b { display: none }", [("p", HIDES), (".x > b", HIDES)]),
        ("p { color: red }", []),
        ("p { display: NONE; color: red; visibility: Hidden !important }", [("p", (*HIDES, ("visibility", "hidden", True)))]),
        ("p { display: nonsense; opacity: thin; pointer-events: sometimes; clip-path: 3px }", []),
        ("p { display: var(--x) }", [("p", (("display", "var(--x)", False),))]),
        ("ul { li { display: none } &.x { display: none } .y & { display: none } > b { display: none } }",
         [(":is(ul) li", HIDES), (":is(ul).x", HIDES), (".y :is(ul)", HIDES), (":is(ul) > b", HIDES)]),
        ("a:hover b { display: none }", [(f"a[{HOVERED}] b", HIDES)]),
        ("a:not(:focus-within):focus { display: none }", [(f"a:not(:is([{FOCUSED}], :has([{FOCUSED}])))[{FOCUSED}]", HIDES)]),
        ("a::before:hover { display: none }", [(f"a::before[{HOVERED}]", HIDES)]),
        ("a[type=TEXT][id=X] { display: none }", [("a[type=TEXT i][id=X]", HIDES)]),
        ("@media print { p { display: none } }", []),
        ("@font-face { src: url(x) } @keyframes k { from { display: none } } @container (width > 1px) { p { display: none } }", []),
        ("p { display: none", [("p", HIDES)]),
    ],
)  # fmt: skip
def test_the_rules_that_hide_elements_are_read(text, expected):
    assert rules(text) == expected


def test_rules_that_reveal_something_under_the_mouse_are_kept():
    sheet = read("li:hover ul { left: 0 } li:hover { left: 0; color: red } li ul { left: 1em }")
    assert [(rule.selector, rule.declarations, rule.reveals) for rule in sheet.rules] == [
        (f"li[{HOVERED}] ul", (), True),
        (f"li[{HOVERED}]", (), True),
    ]


def test_imports_come_before_the_rules_and_only_where_their_conditions_hold():
    text = '@import "a"; @import "b" print; @import "c" supports(display: grid) screen; @import "none"; p { display: none }'
    assert [
        selector for selector, _ in rules(text, a="a { display: none }", b="b { display: none }", c="i { display: none }")
    ] == ["a", "i", "p"]


def test_style_sheets_that_import_one_another_come_to_an_end():
    assert 1 <= len(rules('@import "a";', a='@import "a"; p { display: none }')) <= 10


def test_layers_are_named_in_the_order_in_which_they_first_occur():
    text = '@layer low, high; @import "a" layer(high.inner); @layer low { p { display: none } } @layer { q { display: none } }'
    sheet = read(text, a="b { display: none } @layer deep { i { display: none } }")
    assert [(rule.selector, rule.layer) for rule in sheet.rules if not rule.layer[-1].startswith("(")] == [
        ("b", ("high", "inner")),
        ("i", ("high", "inner", "deep")),
        ("p", ("low",)),
    ]
    assert sheet.layers[:4] == (("low",), ("high",), ("high", "inner"), ("high", "inner", "deep"))


def test_the_same_text_gives_equal_rules_that_can_be_pickled_and_hashed():
    assert hash(read("p { display: none }")) == hash(read("p { display: none }"))
    assert read("p { display: none }").rules[0] == StyleRule("p", HIDES, (), True)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", True),
        ("all", True),
        ("screen", True),
        ("SCREEN", True),
        ("print", False),
        ("not print", True),
        ("only screen and (min-width: 1280px)", True),
        ("only screen and (min-width: 1281px)", False),
        ("(max-width: 80em)", True),
        ("(max-width: 79.9em)", False),
        ("(min-width: 10in) and (max-height: 720px)", True),
        ("(width: 1280px)", True),
        ("(width)", True),
        ("(width >= 338mm) and (width < 339mm)", True),
        ("(width >= 33.8cm) and (width < 33.9cm)", True),
        ("(width = 960pt)", True),
        ("(width >= 1280px)", True),
        ("(1280px > width)", False),
        ("(100px < width < 2000px)", True),
        ("(100px < width < 1000px)", False),
        ("(hover)", True),
        ("(hover: none)", False),
        ("(pointer: fine) and (any-hover: hover)", True),
        ("(prefers-color-scheme: dark)", False),
        ("(prefers-reduced-motion: reduce)", True),
        ("(orientation: landscape)", True),
        ("(unknown: x)", False),
        ("not (unknown: x)", False),
        ("not all and (unknown: x)", False),
        ("(min-width: 1vw)", False),
        ("(hover) or (unknown: x)", True),
        ("(hover) and (unknown: x)", False),
        ("not (hover)", False),
        ("not ((hover) and (width: 1px))", True),
        ("(hover) and (width: 1280px) or (color)", False),
        ("print, screen", True),
        ("and", False),
        ("screen and", False),
        ("screen or (hover)", False),
    ],
)  # fmt: skip
def test_media_queries(query, expected):
    assert media_matches(query) is expected


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("(display: grid)", True),
        ("not (display: grid)", False),
        ("(display: grid) and (-moz-appearance: none)", False),
        ("(-moz-appearance: none) or (display: grid)", True),
        ("((display: grid))", True),
        ("selector(:has(a))", True),
        ("selector(:-moz-focusring)", False),
        ("(-webkit-touch-callout: none)", False),
        ("(-webkit-line-clamp: 2)", True),
        ("nonsense", False),
        ("", False),
    ],
)
def test_supports(condition, expected):
    assert bool(rules(f"@supports {condition} {{ p {{ display: none }} }}")) is expected


@pytest.mark.parametrize("block", ["@media screen", "@supports (display: grid)", "@layer a", "&.x"])
def test_rules_within_one_another_are_read_to_a_depth_of_sixteen(block):
    def nested(depth):
        return f"{block} {{" * depth + "p { display: none }" + "}" * depth

    assert [len(rules(nested(depth))) for depth in (1, 15, 16, 200)] == [1, 1, 0, 0]


def test_a_style_attribute():
    assert style_declarations("display:none;;color:red;visibility : hidden!important") == (
        *HIDES,
        ("visibility", "hidden", True),
    )
    assert style_declarations("display") == ()


@pytest.mark.parametrize("brackets", ["(", "[", "{", "[)", "(]", "([})", "(/*)*/", "[']'"])
def test_brackets_that_are_too_deep_make_a_style_sheet_empty(brackets):
    deep = brackets * 50_000
    assert rules(f"p {{ --x: {deep} }}") == []
    assert rules(f"p{deep} {{ display: none }}") == []
    assert style_declarations(f"display: none; width: {deep}") == ()
    assert not media_matches(f"screen and {deep}")
    assert rules("p { display: none }") == [("p", (("display", "none", False),))]


@pytest.mark.parametrize("text", ["", " ", "/* all */"])
def test_an_empty_media_query_holds(text):
    assert media_matches(text)


def test_many_references_with_many_values_are_not_combined(monkeypatch):
    def combined(*_):
        raise AssertionError

    monkeypatch.setattr("webarena_gym.browsers.style_sheets._possible_values", combined)
    declared = "".join(f":root {{ --a{name}: {value} }}" for name in range(300) for value in range(10))
    value = f"translate({', '.join(f'var(--a{name})' for name in range(300))})"
    assert ("p", (("transform", value, False),)) in rules(f"{declared} p {{ transform: {value} }}")


def test_nested_selectors_that_multiply_are_refused():
    nested = "& & & &{" * 15 + "display: none" + "}" * 15
    assert rules(f".a {{ {nested} display: none }}") == [(".a", HIDES)]
    (rule,) = rules(".a{& & &{& &{display: none}}}")
    assert rule == (":is(:is(.a) :is(.a) :is(.a)) :is(:is(.a) :is(.a) :is(.a))", HIDES)
