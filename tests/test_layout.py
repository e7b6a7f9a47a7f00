"""Other layouts re-shape pages, and leave every way through them open."""

import pickle
from collections import defaultdict
from urllib.parse import unquote

import pytest
from werkzeug.test import Client

from webarena_gym import suite as task_suite
from webarena_gym.actions import Action, Kind
from webarena_gym.browsers.document import Document, SavedDocument
from webarena_gym.env import WebArenaLite
from webarena_gym.observation.writers import HtmlWriter, TreeWalker
from webarena_gym.pages import dom
from webarena_gym.pages.dom import control_value
from webarena_gym.pages.reading import MAX_LABEL, Labels, single_line
from webarena_gym.sites.catalogue import HOSTS
from webarena_gym.sites.country.seeding import COOKIE
from webarena_gym.sites.layout import PLAIN, Layout, Wording, layout_of, table
from webarena_gym.sites.world import load_site, load_world
from webarena_gym.tasks.template import Draw, Sampler, Template, at_url, choose, click
from webarena_gym.tools.audit import replay

TRAINING, HELD_OUT = (1, 7), (1000, 1003)
PATHS = {
    "shopping": ("/", "/customer/account/", "/customer/account/edit/", "/customer/address/", "/sales/order/history/", "/wishlist/",
                 "/review/customer/", "/catalogsearch/result/?q=the", "/catalogsearch/advanced/", "/contact/", "/nowhere/"),
    "shopping_admin": ("/admin/admin/dashboard/", "/admin/sales/order/?filters=1", "/admin/sales/order/view/order_id/3/",
                       "/admin/catalog/product/", "/admin/catalog/product/edit/id/2/", "/admin/customer/index/edit/id/1/",
                       "/admin/review/product/index/", "/admin/admin/system_config/",
                       "/admin/reports/report_sales/sales/?period_type=month&from=01/01/2022&to=12/31/2022"),
    "reddit": ("/", "/forums", "/submit", "/login"),
    "gitlab": ("/", "/explore", "/projects/new", "/dashboard/issues"),
    "map": ("/", "/directions", "/notes"),
    "wikipedia": ("/",),
    "homepage": ("/", "/calculator"),
}  # fmt: skip


@pytest.fixture(scope="module")
def pages():
    """Plain pages of one world."""
    world = load_world(1000)
    databases = world.open()
    found = []
    for name, paths in PATHS.items():
        client = Client(load_site(name).app(databases[name]))
        for host, cookies in world.cookies([name]).items():
            client.set_cookie(COOKIE, cookies[COOKIE], domain=host)
        found += [client.get(path, base_url=f"http://{HOSTS[name]}", follow_redirects=True).text for path in paths]
    yield found
    databases.close()


def tree(html):
    return Document(SavedDocument(html.encode())).root


def signature(element):
    """Return what an element does, however it looks."""
    form = next(element.iterancestors("form"), None)
    values = [element.get(name) for name in ("name", "value", "type", "form")]
    options = [dom.option_value(option) for option in element.iter("option")]
    return element.tag, unquote(element.get("href", "")), values, options, None if form is None else form.get("action")


def squeezed(element):
    return " ".join(element.text_content().split())


def usable(root):
    """Return what can be used on a page, in order, by name."""
    labels = Labels(root)
    found = defaultdict(list)
    walker = TreeWalker(root, HtmlWriter(None, bbox=False), "label")
    walker.visit(root)
    for node in walker.nodes.values():
        found[labels.name_of(node.element)].append(signature(node.element))
    return dict(found)


def sent(root):
    """Return what the forms of a page hold."""
    return sorted(
        (form.get("action", ""), [(field.get("name") or "", control_value(field)) for field in dom.form_controls(form)])
        for form in root.iter("form")
    )


def labels(html):
    """Return what is named on a page, usable or not."""
    root = tree(html)
    return {*usable(root), *map(squeezed, root.iter("h1", "h2", "h3", "th", "dt", "legend"))}


def test_the_plain_layout_changes_nothing_and_others_differ_in_more_than_words(pages):
    assert layout_of(1, "content") is PLAIN
    assert [PLAIN.rebuild(page) for page in pages] == pages
    assert (PLAIN.page_size(10), PLAIN.label("Sign In")) == (10, "Sign In")
    shapes = {tuple(part.tag for part in tree(Layout(seed).rebuild(pages[4])).iter("*")) for seed in range(30)}
    assert len(shapes) > 10
    assert len({Layout(seed).rebuild(pages[0]).partition("<style>")[2].partition("</style>")[0] for seed in range(30)}) > 25


@pytest.mark.parametrize("seed", [*TRAINING, *HELD_OUT])
def test_a_page_is_rebuilt_once_and_keeps_uses_names_forms_and_texts(pages, seed):
    layout, same = Layout(seed), Layout(seed)
    for page in pages:
        rebuilt, root = layout.rebuild(page), tree(page)
        assert rebuilt != page
        assert same.rebuild(page) == same.rebuild(rebuilt) == rebuilt
        other = tree(rebuilt)
        expected = {single_line(layout.label(name), MAX_LABEL): uses for name, uses in usable(root).items()}
        assert usable(other) == expected, "what can be used does the same, in its order among its namesakes"
        assert sent(other) == sent(root)
        text = squeezed(other)
        cells = [cell for cell in root.iter("td") if next(cell.iter("a", "button"), None) is None]
        assert [cell for cell in map(squeezed, cells) if cell not in text] == []


def test_no_two_labels_ever_become_one(pages):
    wordings = [wording.casefold() for others in table().values() for wording in others]
    assert len(wordings) == len(set(wordings))
    assert not set(wordings) & {plain.casefold() for plain in table()}
    assert not set(wordings) & {label.casefold() for page in pages for label in labels(page)}
    for plain, others in table().items():
        assert len(others) >= 3, plain
        assert {(wording.count("{}"), wording.count("{#}")) for wording in others} == {(plain.count("{}"), plain.count("{#}"))}


def test_held_out_layouts_have_distinct_labels_and_list_sizes():
    plain = [label for label in table() if "{" not in label]
    trained = {layout.label(label) for layout in map(Layout, range(40)) for label in plain}
    assert not trained & {layout.label(label) for layout in map(Layout, range(1000, 1010)) for label in plain}
    assert set(plain) <= trained
    layout = Layout(1000)
    assert layout.label("Price from").endswith(", not below")
    assert layout.label("Price from").startswith(layout.label("Price"))
    assert layout.label("Select 12").endswith(" 12")
    assert layout.label("Select an old lamp") == "Select an old lamp"
    assert layout.label("Old Search Lamp") == "Old Search Lamp"
    trained, held_out = ({Layout(first + index).page_size(20) for index in range(40)} for first in (0, 1000))
    assert (trained, held_out) == ({14, 16, 24, 26}, {12, 28})
    assert all(0 < abs(Layout(seed).page_size(usual) - usual) < usual for seed in range(20) for usual in (5, 10, 12, 25))


def test_rebuilt_layouts_keep_unusual_pages_form_values_and_labels():
    for html in ("", " ", "<!-- -->", "text", "<p>text", "<html></html>", "\0\x0b<body>\ud7ff</body>"):
        assert squeezed(tree(Layout(1).rebuild(html)).find("body")) == squeezed(tree(html).find("body"))
    html = "<!doctype html><form><textarea name=a>\n\nfirst\n second</textarea><select name=b><option>Price</option></select></form>"
    assert sent(tree(Layout(1000).rebuild(html))) == sent(tree(html)) == [("", [("a", "\nfirst\n second"), ("b", "Price")])]
    assert "Asking Price" in Layout(1000).rebuild(html)
    for plain in (plain for plain in table() if "{" in plain):
        before, _, after = plain.replace("{#}", "{}").partition("{}")
        text = before * 3_000 + "1" + after * 3_000
        assert all(Wording(seed).label(text) for seed in range(3))


def test_solutions_use_the_labels_of_their_layout():
    def draw(_):
        long = "Edit " + "x" * 100
        steps = [click("Sign In"), click("Sign In [3]"), click("Sign In there"), choose("Sort By", "Price"), click(long)]
        return Draw({}, at_url("/"), [*steps, click("Qty of " + "x" * 100)])

    layout = Layout(1000)
    task = Template("t", ("shopping",), "?", draw).instantiate(Sampler({}, None, "shopping", layout), "t", 1000)
    actions, sign_in = [step.action for step in task.solution], layout.label("Sign In")
    assert actions[:3] == [Action(Kind.CLICK, name) for name in (sign_in, f"{sign_in} [3]", "Sign In there")]
    assert actions[3] == Action(Kind.SELECT, layout.label("Sort By"), layout.label("Price"))
    assert len(actions[4].element) == len(actions[5].element) == MAX_LABEL
    assert actions[5].element.startswith(layout.label("Qty of y")[:-1])


@pytest.mark.parametrize(
    ("world_seed", "every"), [(1002, 40), *(pytest.param(seed, 20, marks=pytest.mark.slow) for seed in (1, 1000))]
)
def test_solutions_lead_through_the_sites_of_another_layout(opened, world_seed, every):
    names = list(task_suite.templates())[world_seed % 20 :: every]
    tasks = task_suite.draw(names, world_seed=world_seed, count=1, variation="layout")
    env = opened(WebArenaLite(tasks=tasks, variation="layout", max_steps=60))
    assert {task.task_id: failure for task in tasks if (failure := replay(env, task))} == {}


def test_the_suite_s_tasks_keep_their_ids_and_intents_in_another_layout():
    plain, other = task_suite.load("test"), task_suite.load("test", variation="layout")
    contents = [[(task.task_id, task.intent, task.eval) for task in tasks] for tasks in (plain, other)]
    assert contents[0] == contents[1]
    assert sum(first.solution != second.solution for first, second in zip(plain, other, strict=True)) > len(plain) / 2
    assert task_suite.find(other[0].task_id, "layout") == other[0]
    assert task_suite.select([other[0].task_id], "layout") == other[:1]


def test_a_snapshot_carries_on_in_its_layout(opened):
    task = task_suite.load("test")[0]
    env, plain = (opened(WebArenaLite(tasks=[task], variation=name, elements="label")) for name in ("layout", "content"))
    text, _ = env.reset()
    assert plain.reset()[0] != text
    snapshot = pickle.loads(pickle.dumps(env.snapshot()))
    assert plain.restore(snapshot)[0] == text
    label = layout_of(task.world_seed, "layout").label("My Account")
    steps = [each.step(f'do(action="Click", element="{label}")') for each in (env, plain)]
    assert steps[0] == steps[1]
    assert steps[0][4]["action_error"] == ""
