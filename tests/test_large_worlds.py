"""Large worlds: what is in them, that nothing in them is another world's, and that episodes in them are as safe as in others.

They run in the world of the hard split, in the cache that all tests share, so that it is built once.
"""

import json
import pickle
import re
from collections import Counter
from random import Random
from urllib.parse import urlencode

import pytest
from markupsafe import escape

from benchmarks import large_worlds
from tests import needs
from tests.crawl import Visitor, survey
from tests.errors import expect_error
from tests.prose_reader import read_opinions, read_outcomes, says
from webarena_gym import suite
from webarena_gym.arena.episodes import EpisodeStore
from webarena_gym.arena.schema import NewEpisode
from webarena_gym.env import WebArenaLite
from webarena_gym.errors import SnapshotError, TaskError
from webarena_gym.sites.catalogue import DATABASES, HOSTS
from webarena_gym.sites.country.dice import moment
from webarena_gym.sites.country.geography import country
from webarena_gym.sites.country.names import WORDS, invented_word, people, population
from webarena_gym.sites.kit import ranking
from webarena_gym.sites.layout import PLAIN
from webarena_gym.sites.map import queries as places
from webarena_gym.sites.map.queries import PLACES
from webarena_gym.sites.prose.reviews import Opinion
from webarena_gym.sites.prose.things import Thing
from webarena_gym.sites.shopping import carts, queries
from webarena_gym.sites.shopping.carts import RefusedError, restock_variant, variants_of
from webarena_gym.sites.shopping.views.catalogue import find
from webarena_gym.sites.shopping.world_products import draw_products
from webarena_gym.sites.wikipedia.site import pages_with
from webarena_gym.sites.world import build, cache_folder, load_world
from webarena_gym.tasks import Expert, Task
from webarena_gym.tools.audit import replay

WORLD = 1002
LARGEST_PAGE = 90_000  # characters of HTML
LEAST = {
    "shopping": {"product": 2_900, "category": 150, "product_variant": 4_900, "sales_order": 3_000, "customer": 1_000, "review": 9_500},
    "reddit": {"submission": 10_000, "comment": 55_000, "user": 1_000},
    "gitlab": {"project": 400, "issue": 7_000, "git_commit": 10_000, "merge_request": 1_800, "note": 30_000, "branch": 700},
    "map": {"town": 60, "place": 4_900},
    "wikipedia": {"article": 2_000},
}  # fmt: skip


@pytest.fixture(autouse=True)
def untouched():
    """No test writes to the files of the world."""
    for name in DATABASES:
        load_world(WORLD, "large").prepare(name)
    files = sorted(cache_folder().rglob(f"*-{WORLD}-large.sqlite"))
    times = [file.stat().st_mtime_ns for file in files]
    yield
    assert [file.stat().st_mtime_ns for file in files] == times


@pytest.fixture
def world(opened):
    return opened(load_world(WORLD, "large").open())


def rows(databases, site, query, *values):
    return [tuple(row) for row in databases[site].connection.execute(query, values)]


def column(databases, site, query, *values):
    return [value for (value, *_) in rows(databases, site, query, *values)]


def visit(databases, site):
    return Visitor(databases, load_world(WORLD, "large"), site, PLAIN)


def make(**options):
    return WebArenaLite(**{"world_seed": WORLD, "scale": "large", "max_steps": 60} | options)


def test_large_worlds_have_the_promised_sizes_and_distinguishable_names(world):
    for site, tables in LEAST.items():
        for table, least in tables.items():
            assert column(world, site, f"SELECT count(*) FROM {table}") >= [least], (site, table)
    largest = "SELECT count(*) n FROM {} GROUP BY {} ORDER BY n DESC LIMIT 1"
    assert column(world, "reddit", largest.format("comment", "submission_id")) >= [200]
    for table in ("issue", "git_commit"):
        assert column(world, "gitlab", largest.format(table, "project_id")) >= [150]
    depths = """WITH RECURSIVE tree(category_id, depth) AS (SELECT category_id, 1 FROM category WHERE parent_id IS NULL
        UNION ALL SELECT c.category_id, depth + 1 FROM category c JOIN tree ON c.parent_id = tree.category_id)
        SELECT DISTINCT depth FROM tree {} ORDER BY 1"""
    assert column(world, "shopping", depths.format("")) == [1, 2, 3]
    assert column(world, "shopping", depths.format("JOIN product USING (category_id)")) == [3]
    names = Counter(column(world, "map", "SELECT name FROM place"))
    assert sum(count > 1 for count in names.values()) > 100
    assert max(names.values()) >= 20  # branches of a chain
    labels = column(world, "map", PLACES + "SELECT label FROM places")
    assert len(set(labels)) == len(labels)
    assert column(world, "map", "SELECT count(*) FROM place_detail WHERE name = 'Also known as'") > [40]
    for site, query in (("shopping", "SELECT name FROM product"), ("reddit", "SELECT title FROM submission")):
        names = column(world, site, query)
        assert len(set(names)) == len(names)
        assert [name for name in names if re.fullmatch(r"(Product|Post|Item) .*[0-9]+", name)] == []


@pytest.mark.parametrize("stream", ["brand", "place", "work", "title"])
def test_no_word_belongs_to_two_worlds_or_two_scales(stream):
    worlds = [(seed, scale) for scale in WORDS for seed in (-1, 0, 7, 999, 1000, 1003)]
    words = [invented_word(seed, index, stream, scale) for seed, scale in worlds for index in range(WORDS[scale])]
    assert len(set(words)) == len(words)


def test_worlds_for_training_and_held_out_ones_share_no_names():
    def names(seed, scale):
        goods = draw_products(seed, moment(seed), scale).products
        towns = {town.name for town in country(seed, scale).towns}
        sold = {name for one in goods for name in (one.name, one.brand)}
        return {*people(seed, scale), *population(seed, scale), *towns} | sold

    trained, held_out = (set().union(*(names(seed, scale) for scale in WORDS)) for seed in (7, 1003))
    assert trained.isdisjoint(held_out)


@pytest.mark.parametrize("name", ["map", "homepage", pytest.param("wikipedia", marks=pytest.mark.slow)])
def test_equal_seeds_give_equal_bytes(name):
    assert build(name, WORLD, "large") == load_world(WORLD, "large").content(name)


@pytest.mark.parametrize("site", HOSTS)
@pytest.mark.sampled(2)
def test_pages_are_of_a_size_that_people_read(site):
    pages = list(survey(site, WORLD, per_rule=3, limit=120, scale="large"))
    assert len(pages) >= 1
    assert {page.url: len(page.html) for page in pages if len(page.html) > LARGEST_PAGE or page.status >= 500} == {}


def test_the_largest_lists_are_cut_into_pages(world):
    largest = """SELECT 'f/' || f.name || '/' || submission_id || '/' || slug FROM comment JOIN submission s USING (submission_id)
        JOIN forum f USING (forum_id) GROUP BY submission_id ORDER BY count(*) DESC LIMIT 1"""
    busiest = """SELECT namespace || '/' || path FROM issue JOIN project USING (project_id)
        GROUP BY project_id ORDER BY count(*) DESC LIMIT 1"""
    (project,) = column(world, "gitlab", busiest)
    titles = column(world, "wikipedia", "SELECT title FROM article WHERE kind = 'list'")
    addresses = {
        "reddit": [*column(world, "reddit", largest), "forums"],
        "shopping": ["catalogsearch/result/?q=a"],
        "gitlab": [f"{project}/-/{page}" for page in ("issues?state=all", "merge_requests", "commits/main", "branches")],
        "wikipedia": [f"wiki/{title.replace(' ', '_')}" for title in titles],
    }
    for site, paths in addresses.items():
        visitor = visit(world, site)
        for path in paths:
            assert len(visitor.open(f"http://{HOSTS[site]}/{path}").html) <= LARGEST_PAGE, path


# Episodes.


def solve(env, task, steps=None):
    """Play the solution of a task, or its first steps, and return the last reward."""
    expert, done, reward, taken = Expert(task), False, 0.0, 0
    while not done and (steps is None or taken < steps):
        _, reward, terminated, truncated, _ = env.step(expert.reply(env.page, env.observation))
        done, taken = terminated or truncated, taken + 1
    return reward


STANDARD = ("shopping.checkout", "shopping.category_place", "shopping_admin.create_rule", "reddit.comment_here", "gitlab.issue_create",
            "map.save_place", "several.newest_urls")  # fmt: skip
HARD = sorted(name for name, template in suite.templates().items() if template.difficulty)


@pytest.mark.parametrize("name", STANDARD)
def test_tasks_of_the_standard_templates_are_solved_in_a_large_world(name):
    (task,) = suite.draw([name], world_seed=WORLD, count=1, scale="large")
    with make(tasks=[task]) as env:
        env.reset()
        assert solve(env, task) == 1.0


@pytest.mark.parametrize("name", HARD)
@pytest.mark.sampled(8)
def test_tasks_of_the_hard_templates_are_solved_in_a_large_world(name):
    task = next(task for task in suite.load("hard") if task.template == name)
    with WebArenaLite(tasks=[task]) as env:
        assert replay(env, task) == ""


def state(env):
    return env.observation.text, [change.__repr__() for change in env.changes()]


def test_an_episode_is_forked_and_reset_and_touches_no_other():
    (task,) = suite.draw(["shopping.checkout"], world_seed=WORLD, count=1, scale="large")
    with make(tasks=[task]) as one, make(tasks=[task]) as other:
        one.reset()
        first = state(one)
        other.reset()
        solve(one, task, len(task.solution) - 2)
        saved, seen = pickle.loads(pickle.dumps(one.snapshot())), state(one)
        assert seen[1] != []
        assert state(other) == first
        other.restore(saved)
        assert state(other) == seen
        assert pickle.dumps(other.snapshot()) == pickle.dumps(other.snapshot())
        for env in (one, other):
            expert = Expert(task)
            expert._done += len(task.solution) - 2
            done = False
            while not done:
                _, reward, done, *_ = env.step(expert.reply(env.page, env.observation))
            assert reward == 1.0
        one.reset()
        assert state(one) == first
        assert len(pickle.dumps(saved)) < 200_000


def test_a_snapshot_of_another_scale_opens_its_own_world():
    (task,) = suite.draw(["shopping.cart_add"], world_seed=WORLD, count=1, scale="large")
    with make(tasks=[task]) as large, WebArenaLite(tasks=["shopping.cart_add/1000/0"]) as standard:
        large.reset()
        standard.reset()
        standard.restore(large.snapshot())
        assert standard.observation.text == large.observation.text
        with pytest.raises(SnapshotError):
            standard.restore("no snapshot")


def test_the_cost_of_a_large_world_is_measured():
    figures = large_worlds.use(WORLD, 3, 2)
    files = {name: load_world(WORLD, "large").prepare(name) for name in DATABASES}
    assert sum(files.values()) <= 200e6, files
    assert figures["large_mb_per_env"] is None or figures["large_mb_per_env"] <= 40
    assert figures["large_resets"] == 2


@needs.chromium
def test_both_browsers_show_the_same_text(world):
    (forum,) = column(
        world, "reddit", "SELECT name FROM submission JOIN forum USING (forum_id) GROUP BY 1 ORDER BY count(*) DESC LIMIT 1"
    )
    issues = "(SELECT count(*) FROM issue i WHERE i.project_id = project.project_id)"
    (project,) = column(world, "gitlab", f"SELECT namespace || '/' || path FROM project ORDER BY {issues} DESC LIMIT 1")
    variants = "product JOIN category c USING (category_id) JOIN product_variant USING (product_id)"
    ((product, category),) = rows(world, "shopping", f"SELECT url_key, c.url_path FROM {variants} LIMIT 1")
    pages = [
        f"http://shop.test/{product}.html", f"http://shop.test/{category}.html", "http://shop.test/catalogsearch/result/?q=wireles+lamps",
        "http://shop-admin.test/admin/sales/order/", "http://shop-admin.test/admin/catalog/product/edit/id/7/",
        f"http://forum.test/f/{forum}", "http://forum.test/search?q=advice", f"http://code.test/{project}/-/issues", f"http://code.test/{project}",
        "http://map.test/search?query=cafes", "http://map.test/town/1", "http://wiki.test/search?search=universities",
    ]  # fmt: skip
    check = {"eval_types": ["string_match"], "reference_answers": {"exact_match": "x"}}
    task = Task("look", tuple(HOSTS), "__SHOPPING__", "Look around.", check)
    texts = []
    for browser in ("inprocess", "chromium"):
        with make(tasks=[task], browser=browser, dialect="webarena", window=10**6) as env:
            env.reset()
            texts.append([])
            for page in pages:
                env.step(f"```goto [{page}]```")
                assert env.page.url == page
                texts[-1].append(env.observation.text)
    for page, one, other in zip(pages, *texts, strict=True):
        assert one == other, page


# The shop's variants.


def test_sold_out_variants_are_rejected_and_purchases_reduce_the_stock(world):
    shop = visit(world, "shopping")
    query = """
        SELECT product_id, p.url_key, v.options, v.sku, v.quantity FROM product_variant v JOIN product p USING (product_id)
        WHERE p.is_enabled AND p.quantity > 0 AND (v.quantity = 0) = ? AND v.quantity != 1 ORDER BY variant_id LIMIT 1
    """
    db = world["shopping"].connection
    for is_sold_out in (1, 0):
        product_id, url_key, choice, sku, quantity = rows(world, "shopping", query, is_sold_out)[0]
        assert shop.open(f"http://shop.test/{url_key}.html").status == 200
        product, options = queries.product(db, product_id), json.loads(choice)
        if is_sold_out:
            with pytest.raises(RefusedError, match="out of stock"):
                carts.add(db, 1, product, 1, options)
            continue
        carts.add(db, 1, product, quantity, options)
        with pytest.raises(RefusedError, match="requested quantity"):
            carts.add(db, 1, product, 1, options)
        (line,) = [line for line in carts.lines(db, 1) if line.product_id == product_id]
        assert (line.sku, line.available, line.quantity) == (sku, quantity, quantity)
        restock_variant(db, product_id, choice, -2)
        assert variants_of(db, [product_id])[product_id, choice].quantity == quantity - 2


# Search.


def test_other_forms_and_misspellings_of_a_word_find_what_it_finds(world):
    db, rng = world["shopping"].connection, Random(2)
    names = column(world, "shopping", "SELECT name FROM product ORDER BY product_id")
    nouns = [name.split(",")[0].split()[-1] for name in names]
    for noun in rng.sample(sorted({noun for noun in nouns if len(noun) > 6 and noun.isalpha() and not noun.endswith("s")}), 12):
        found = {row["product_id"] for row in find(db, noun)}
        assert found
        assert found <= {row["product_id"] for row in find(db, f"{noun}s")}, noun
        place = rng.randrange(2, len(noun) - 2)
        before, letter, after = noun[:place], noun[place], noun[place + 1 :]
        for wrong in (before + after, before + letter + letter + after, before + "q" + after):
            known = db.execute("SELECT 1 FROM search_word WHERE word = ?", (wrong.lower(),)).fetchone()
            spellings = ranking._spellings(db, wrong.lower())
            assert known or noun.lower() in spellings, (noun, wrong, spellings)


def test_exact_names_rank_first_and_partial_matches_last(world):
    db = world["shopping"].connection
    names = column(world, "shopping", "SELECT name FROM product WHERE is_enabled ORDER BY product_id")
    for name in Random(1).sample(names, 40):
        assert find(db, name)[0]["name"] == name
    names = [words for words in (name.split(",")[0].split() for name in names) if len(words) >= 4]
    for words in Random(3).sample(names, 10):
        phrase = f"{words[-2]} {words[-1]}"
        found = [row["name"].lower() for row in find(db, phrase)]
        whole = [all(word.lower() in name for word in phrase.split()) for name in found]
        assert whole[0]
        assert len(found) >= 10 or not all(whole) or found


def test_the_index_follows_insertions_and_deletions(world):
    db = world["reddit"].connection
    assert ranking.rank_texts(db, "comment_text", "xylophonic", (1,)) == {}
    (comment,) = rows(world, "reddit", "SELECT comment_id FROM comment LIMIT 1")[0]
    db.execute("UPDATE comment SET body = 'A xylophonic answer.' WHERE comment_id = ?", (comment,))
    assert list(ranking.rank_texts(db, "comment_text", "xylophonic", (1,))) == [comment]
    world.reset()
    assert ranking.rank_texts(world["reddit"].connection, "comment_text", "xylophonic", (1,)) == {}


def test_articles_are_found_by_what_they_are_about(world):
    db = world["wikipedia"].connection
    assert pages_with(db, "battles")[0]["title"].startswith("List of battles")
    titles = column(world, "wikipedia", "SELECT title FROM article WHERE kind = 'museum' ORDER BY 1")
    for title in Random(4).sample(titles, 8):
        assert pages_with(db, title)[0]["title"] == title


def hosted(world, scope, text):
    """Return how much of a kind the code host finds, and the addresses of what its first page lists."""
    html = visit(world, "gitlab").open(f"http://code.test/search?{urlencode({'scope': scope, 'search': text})}").html
    total = re.search(r'aria-current="page">[^<]*</a> <span class="badge">(\d+)', html)[1]
    return int(total), re.findall(r'<h2>.*?href="/([^"]+)"', html.partition("<h1>")[2], re.DOTALL)


def test_the_code_host_finds_what_is_called_so_first_and_near_misses_behind(world):
    paths = rows(world, "gitlab", "SELECT namespace, path FROM project WHERE visibility = 'public' ORDER BY project_id")
    for namespace, path in Random(5).sample(paths, 12):
        same = {f"{other}/{name}" for other, name in paths if name == path}
        total, found = hosted(world, "projects", path)
        assert f"{namespace}/{path}" in found[: len(same)]
        assert total >= len(same)
    assert any(hosted(world, "projects", path)[0] > 1 for _, path in paths[:5])


def test_the_code_host_mends_misspelled_words(world):
    db = world["gitlab"].connection
    words = sorted({word.lower() for (title,) in rows(world, "gitlab", "SELECT title FROM issue") for word in title.split()})
    tried = 0
    for word in [word for word in words if len(word) > 7 and word.isalpha()][::3]:
        wrong = word[:4] + word[5:]
        if ranking._is_known(db, wrong) or ranking._is_known(db, wrong.removesuffix("s")) or word in ranking.synonyms():
            continue
        if ranking._spellings(db, wrong) == [word]:
            assert hosted(world, "issues", wrong) == hosted(world, "issues", word) != (0, [])
            tried += 1
    assert tried > 5


def test_the_code_host_finds_nothing_that_one_may_not_see(world):
    hidden = """SELECT issue_id FROM issue WHERE is_confidential AND author_id != 1
        AND project_id NOT IN (SELECT project_id FROM membership WHERE user_id = 1)
        AND issue_id NOT IN (SELECT issue_id FROM issue_assignee WHERE user_id = 1) ORDER BY 1 LIMIT 5"""
    found = rows(world, "gitlab", hidden)
    assert found
    for key in found:
        world["gitlab"].connection.execute("UPDATE issue SET title = 'A xylophonic ' || title WHERE issue_id = ?", key)
        assert hosted(world, "issues", "xylophonic") == (0, [])
    for table in ("issue", "merge_request", "project"):
        db = world["gitlab"].connection
        column = "name" if table == "project" else "title"
        (key,) = rows(world, "gitlab", f"SELECT {table}_id FROM {table} LIMIT 1")[0]
        for text, found in (("quixotical", [key]), ("plain", [])):
            db.execute(f"UPDATE {table} SET {column} = ? WHERE {table}_id = ?", (text, key))
            assert list(ranking.rank_texts(db, f"{table}_text", "quixotical", (1,))) == found


def test_the_map_finds_what_a_misspelled_name_was_meant_to_be(world):
    db, rng = world["map"].connection, Random(7)
    names = [name for name in column(world, "map", "SELECT name FROM town ORDER BY town_id") if len(name) > 6]
    for name in rng.sample(names, 12):
        place = rng.randrange(2, len(name) - 2)
        wrong = name[:place] + name[place + 1 :]
        assert [one.label for one in places.search(db, name)[1]][:1] == [name]
        spelled = set(ranking._spellings(db, wrong.lower()))
        if name.lower() in spelled and not ranking._is_known(db, wrong.lower()):
            assert name in [one.label for one in places.search(db, wrong)[1]][: len(spelled)]
    for (name,) in rng.sample(rows(world, "map", "SELECT name FROM place WHERE category = 'library' ORDER BY place_id"), 8):
        assert {one.label for one in places.search(db, name)[1] if one.is_exact} >= {name}
        assert name in [one.label for one in places.search(db, f"{name} somewhere")[1]][:3]
    assert len(places.search(db, "zoo of nowhere")[1]) == len(rows(world, "map", "SELECT 1 FROM place WHERE category = 'zoo'"))
    for phrase in ('"(*', "NEAR(", "a OR", "*", "ä", "the"):
        assert len({one.url for one in places.search(db, phrase)[1]}) == len(places.search(db, phrase)[1])


@pytest.mark.parametrize(
    "phrase", ["", "   ", '"', "*", "a OR b", "NEAR(", "-", "'", "\u00e4", "the", "x" * 500, "(" * 300, "a " * 200]
)
def test_no_phrase_breaks_a_search(world, phrase):
    indexes = {
        "shopping": ("product_text", (8, 8, 4, 2, 1)),
        "reddit": ("submission_text", (4, 1)),
        "gitlab": ("issue_text", (4, 1)),
    }
    for site, (index, weights) in indexes.items():
        found = ranking.rank_texts(world[site].connection, index, phrase, weights)
        assert list(found.values()) == sorted(found.values(), reverse=True)


def test_standard_worlds_have_no_index():
    databases = load_world(WORLD).open()
    assert not any(ranking.has_index(databases[name].connection) for name in DATABASES)
    databases.close()


# What sites leave to their visitors.


@pytest.mark.parametrize(("scale", "is_told"), [("standard", True), ("large", False)])
def test_totals_are_shown_in_standard_worlds_only(scale, is_told):
    world = load_world(WORLD, scale)
    databases = world.open()
    university = rows(databases, "wikipedia", "SELECT title FROM article WHERE kind = 'university' ORDER BY 1")[0][0]
    texts = {
        ("map", "nearby?place=5&category=cafe"): "Walking time",
        ("shopping_admin", "admin/admin/dashboard/"): "<th>Items</th>",
        ("wikipedia", f"wiki/{university.replace(' ', '_')}"): "Prize winners",
    }
    for (site, path), words in texts.items():
        page = Visitor(databases, world, site, PLAIN).open(f"http://{HOSTS[site]}/{path}")
        assert page.status == 200
        assert (words in page.html) == is_told, path
    databases.close()


def test_an_env_draws_a_split_of_a_large_world_when_it_needs_it(monkeypatch):
    drawn, some = [], suite.draw(["map.town_population"], world_seed=WORLD, count=2, scale="large")
    monkeypatch.setattr(suite, "spread", lambda _, **how: drawn.append(how) or some)
    with expect_error(TaskError, "'nothing'"):
        make(split="nothing")
    with make(split="test") as env:
        _, info = env.reset(options={"task": f"map.town_population/{WORLD}/0"})
        assert (info["task_id"], drawn) == (f"map.town_population/{WORLD}/0", [])
        env.reset(seed=1)
        assert {(how["world_seed"], how["variation"], how["scale"]) for how in drawn} == {(WORLD, "content", "large")}


def test_an_episode_server_plays_in_large_worlds():
    store = EpisodeStore()
    settings = NewEpisode(task=f"map.town_population/{WORLD}/0", scale="large", mode="step")
    episode = store.create(settings)
    task, env = episode.task, episode.env
    assert task.intent == suite.find(task.task_id, scale="large").intent != suite.find(task.task_id).intent
    assert solve(env, task) == 1.0
    store.close_episode(episode.id, "it is over")
    assert store.create(settings).env is env
    store.close()


# Composed texts: the tables hold what they say.


def test_the_tables_hold_what_a_reader_finds_in_reviews(world):
    goods = {one.product_id: one for one in draw_products(WORLD, moment(WORLD), "large").products}
    columns = "review_id, product_id, detail, outcome, use, user"
    formal = rows(
        world, "shopping", f"SELECT {columns} FROM review JOIN review_fact USING (review_id) WHERE register = 'formal'"
    )
    assert len(formal) > 1000
    for review_id, product_id, text, outcome, *named in Random(5).sample(formal, 150):
        product = goods[product_id]
        thing = Thing(product.noun, product.brand, tuple(product.attributes))
        found = read_opinions(text, thing, is_held_out=True)
        opinions = (
            world["shopping"].connection.execute("SELECT * FROM review_opinion WHERE review_id = ?", (review_id,)).fetchall()
        )
        for row in opinions:
            opinion = Opinion(
                **{name: row[name] for name in ("aspect", "strength", "voice", "who", "compared_with")},
                **{name: bool(row[name]) for name in ("is_good", "agrees", "is_retracted")},
            )
            assert says(found, opinion), (opinion, text)
            assert row["verdict"] == (None if opinion.verdict is None else int(opinion.verdict))
        assert read_outcomes(text, is_held_out=True) == ({outcome} if outcome else set())
        assert all(name.lower() in text.lower() for name in named)


def test_every_review_has_its_facts_and_is_shown_in_paragraphs(world):
    assert rows(world, "shopping", "SELECT review_id FROM review EXCEPT SELECT review_id FROM review_fact") == []
    query = """SELECT product_id, detail FROM review JOIN product USING (product_id)
        WHERE status = 'Approved' AND is_enabled AND detail LIKE '%' || char(10, 10) || '%' GROUP BY product_id HAVING count(*) = 1"""
    product_id, text = rows(world, "shopping", query)[0]
    page = visit(world, "shopping").open(f"http://shop.test/review/product/list/id/{product_id}/")
    assert all(f"<p>{escape(part)}</p>" in page.html for part in text.split("\n\n"))


def test_every_post_and_comment_has_its_facts(world):
    for table in ("submission", "comment"):
        assert rows(world, "reddit", f"SELECT {table}_id FROM {table} EXCEPT SELECT {table}_id FROM {table}_fact") == []
    query = """SELECT s.submission_id, f.kind, subject, place, body, title, coalesce(p.point, '') FROM submission s
        JOIN submission_fact f USING (submission_id)
        LEFT JOIN submission_point p ON s.submission_id = p.submission_id AND p.kind = 'reason' AND position = 1"""
    found_rows = rows(world, "reddit", query)
    for number, kind, subject, place, body, title, reason in Random(6).sample(found_rows, 400):
        text = f"{title} {body}".lower()
        assert place.lower() in text, number
        if body[:1].isupper() or kind == "report":  # careless writers misspell, but no names
            assert kind == "question" or plain(subject) in plain(text), (number, subject, text)
            assert plain(reason) in plain(text), (number, reason, text)


def plain(text):
    """Return a text without what registers change: capitals and contractions."""
    contractions = r"n't|'(s|re|m|ve|ll|d)\b| (is|are|am|has|have|will|would|had|not|cannot)\b|can't|won't"
    return " ".join(re.sub(r"[^a-z ]", "", re.sub(contractions, "", text.lower())).split())


def test_comments_with_a_changed_opinion_are_consistent(world):
    query = """SELECT c.comment_id, submission_id, c.user_id, subject, somebody FROM comment c JOIN comment_fact USING (comment_id)
        WHERE stance = 'changed'"""
    held = """SELECT subject FROM comment JOIN comment_fact USING (comment_id)
        WHERE submission_id = ? AND user_id = ? AND kind = 'stand' AND comment_id < ?
        UNION ALL SELECT subject FROM submission JOIN submission_fact USING (submission_id) WHERE submission_id = ? AND user_id = ?"""
    against = """SELECT 1 FROM comment JOIN comment_fact USING (comment_id) JOIN user USING (user_id)
        WHERE submission_id = ? AND username = ? AND subject = ?"""
    turned = rows(world, "reddit", query)
    assert len(turned) > 20
    for comment, post, user, claim, somebody in turned:
        stands = column(world, "reddit", held, post, user, comment, post, user)
        assert stands
        assert set(stands) != {claim}
        assert rows(world, "reddit", against, post, somebody, claim), comment


def test_thanks_follow_the_remedy_and_solve_the_problem(world):
    query = """SELECT c.comment_id, c.user_id = s.user_id, f.subject, f.somebody, u.username, g.subject, p.created_at < c.created_at, c.body
        FROM comment c JOIN comment_fact f USING (comment_id) JOIN submission s USING (submission_id)
        JOIN comment p ON p.comment_id = c.parent_id JOIN comment_fact g ON g.comment_id = p.comment_id JOIN user u ON u.user_id = p.user_id
        WHERE f.kind = 'thanks'"""
    thanked = rows(world, "reddit", query)
    assert len(thanked) > 100
    for number, is_asker, remedy, somebody, author, named, is_before, body in thanked:
        assert (is_asker, remedy, somebody, is_before) == (1, named, author, 1), (number, body)
    days = "julianday(c.created_at) - julianday(p.created_at)"
    query = f"""SELECT sum({days} < 0.02), sum({days} > 0.5) FROM comment c JOIN comment_fact f USING (comment_id)
        JOIN comment p ON p.comment_id = c.parent_id WHERE f.kind = 'thanks'"""
    ((soon, late),) = rows(world, "reddit", query)
    assert late > 20 * soon
    query = """SELECT d.comment_id FROM comment d JOIN comment_fact g USING (comment_id) JOIN comment c USING (submission_id, user_id)
        JOIN comment_fact f ON f.comment_id = c.comment_id
        WHERE g.kind = 'detail' AND g.stance = 'reply' AND f.kind = 'thanks' AND f.stance = 'helped' AND d.created_at > c.created_at"""
    assert rows(world, "reddit", query) == []


def test_merged_requests_close_their_issues(world):
    db = world["gitlab"].connection
    issues = {(row["project_id"], row["iid"]): row for row in db.execute("SELECT * FROM issue")}
    closed = 0
    for request in db.execute("SELECT * FROM merge_request WHERE description LIKE '%loses%#%'").fetchall():
        iid = int(re.search(r"loses:? #(\d+)", request["description"], re.IGNORECASE)[1])
        issue = issues[request["project_id"], iid]
        assert issue["created_at"] < request["created_at"]
        if request["state"] == "merged":
            closed += 1
            assert (issue["state"], issue["closed_at"]) == ("closed", request["merged_at"])
            query = "SELECT group_concat(body, ' ') FROM note WHERE issue_id = ? AND created_at = ?"
            assert f"!{request['iid']}" in db.execute(query, (issue["issue_id"], issue["closed_at"])).fetchone()[0]
        else:
            assert issue["state"] == "opened"
    assert closed > 300


def test_issue_texts_match_their_labels_and_comments_are_not_repeated(world):
    db = world["gitlab"].connection
    for label, pattern in (
        ("bug", r"\d\.\d"),
        ("enhancement", r"wou?l?d|idea|add|request|mis+|wish|reason|pl(ea|ae)se|cou?l?d"),
        ("documentation", r"manual|help page|docs|document|known problems|write it down|one line would do"),
        ("question", r"\?"),
    ):
        labels = "issue JOIN issue_label USING (issue_id) JOIN label USING (label_id)"
        texts = column(world, "gitlab", f"SELECT title || ' ' || issue.description FROM {labels} WHERE name = ?", label)
        assert len(texts) > 200
        assert [text for text in texts if not re.search(pattern, text, re.IGNORECASE)] == []
    columns = "json_group_array(body), count(*) - count(DISTINCT lower(body))"
    for bodies, again in db.execute(f"SELECT {columns} FROM note WHERE NOT is_system GROUP BY issue_id, merge_request_id"):
        assert again <= 1, bodies


def test_greeted_users_have_commented_before(world):
    db = world["gitlab"].connection
    names = {row["user_id"]: row["username"] for row in db.execute("SELECT user_id, username FROM user")}
    spoken: dict[tuple[int | None, int | None], set[str]] = {}
    for table in ("issue", "merge_request"):
        for row in db.execute(f"SELECT {table}_id, author_id FROM {table}"):
            spoken[(row[0], None) if table == "issue" else (None, row[0])] = {names[row["author_id"]]}
    greeted = 0
    for note in db.execute("SELECT * FROM note WHERE NOT is_system ORDER BY created_at, note_id"):
        thread, speaker = spoken[note["issue_id"], note["merge_request_id"]], names[note["author_id"]]
        if match := re.match(r"@(\S+) ", note["body"]):
            greeted += 1
            assert match[1] in thread - {speaker}
        thread.add(speaker)
    assert greeted > 1_000


def test_the_tables_hold_what_a_reader_finds_on_the_code_host(world):
    db = world["gitlab"].connection
    assert rows(world, "gitlab", "SELECT issue_id FROM issue EXCEPT SELECT issue_id FROM issue_fact") == []
    for row in db.execute(
        "SELECT title || ' ' || description AS text, issue_fact.* FROM issue JOIN issue_fact USING (issue_id)"
    ):
        assert all(value in row["text"] for value in (row["version"], row["platform"], row["since"]))
    kinds = Counter()
    for row in db.execute("SELECT body, note_fact.* FROM note JOIN note_fact USING (note_id)"):
        kinds[row["kind"]] += 1
        assert all(value in row["body"] for value in (row["version"], row["platform"], row["number"])), row["body"]
        like_here = "can confirm|same here|happens to me|reproduced on|me too|see the same|not just you"
        assert bool(re.search(like_here, row["body"], re.IGNORECASE)) == (row["kind"] == "confirms"), row["body"]
    assert kinds["confirms"] > 2_000 < kinds["note"]
