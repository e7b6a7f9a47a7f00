"""The tool lookup: search in the encyclopedia."""

import pytest

from tests.errors import expect_error
from webarena_gym.sites.world import load_world
from webarena_gym.toolbox.lookup import Lookup


@pytest.mark.parametrize("scale", ["standard", "large"])
def test_the_article_of_each_title_is_found(scale):
    search = Lookup()
    search.enter_world(1000, scale)
    database = load_world(1000, scale).database("wikipedia")
    query = (
        "SELECT title FROM article WHERE kind NOT IN ('list', 'disambiguation') ORDER BY article_id % 7, article_id LIMIT 60"
    )
    titles = [title for (title,) in database.connection.execute(query)]
    database.close()
    for title in titles:
        assert search.lookup(title, 1).startswith(f"[1] {title}: "), title
        assert search.lookup(f" {title.upper()}  ", 1).startswith(f"[1] {title}: "), title


def test_a_result_depends_on_the_world_and_the_arguments_alone():
    one, other = Lookup(), Lookup()
    for search, seed in ((one, 1000), (other, 1001), (other, 1000)):
        search.enter_world(seed, "standard")
    assert one.lookup("largest town", 5) == other.lookup("largest town", 5)
    assert one.lookup("The LARGEST of towns!", 5) == other.lookup("largest towns", 5)
    assert one.lookup("largest town", 5).startswith(one.lookup("largest town", 2))
    assert one.lookup("qqqqqq") == "No article matches."
    for arguments, values in (
        (("town", 0), ("k", 0, 1, 10)),
        (("town", 11), ("k", 11)),
        (("?!",), ("query",)),
    ):
        with expect_error(ValueError, *values):
            one.lookup(*arguments)
