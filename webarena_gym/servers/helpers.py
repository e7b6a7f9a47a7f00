"""The helper functions that official task files call by name (`func:...`), from a table. Names are spelled as they are there.

Known faults that belong to the benchmark and are kept: the latest order is that of the whole shop, whoever placed it, and its
number stands for its id.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

from webarena_gym.errors import EvaluationError, ScriptError, ServerError
from webarena_gym.servers.logins import Account, account_of
from webarena_gym.servers.rest import request_json

_SHOP = "__SHOPPING__"
_ROLE = """(() => {
  const names = [...document.querySelectorAll("td[data-label='Account'] span.gl-avatar-labeled-sublabel")];
  const index = names.findIndex((name) => name.outerText === "@" + %s);
  return document.querySelectorAll("td.col-max-role span")[index].outerText;
})()"""


class Scene(NamedTuple):
    """The input of a helper: the page, through scripts; the base URLs by placeholder; the accounts by site."""

    run: Callable[[str], Any]
    urls: Mapping[str, str]
    accounts: Mapping[str, Account]


def shopping_get_latest_order_url(scene: Scene) -> str:
    """Return the address of the shop's newest order."""
    query = {
        "searchCriteria[sortOrders][0][field]": "created_at",
        "searchCriteria[sortOrders][0][direction]": "DESC",
        "searchCriteria[pageSize]": "1",
    }
    said = _ask_shop(scene, f"/rest/V1/orders?{urlencode(query)}")
    number = _read(said, "orders", "items", 0, "increment_id")
    return f"{_shop(scene)}/sales/order/view/order_id/{int(number)}/"


def shopping_get_sku_latest_review_author(scene: Scene, sku: str) -> str:
    """Return who wrote the newest review of a product; empty without one."""
    reviews = _reviews(scene, sku)
    return str(_read(reviews, "reviews", -1, "nickname")) if reviews else ""


def shopping_get_sku_latest_review_rating(scene: Scene, sku: str) -> str:
    """Return the rating of the newest review of a product, in percent; empty without one."""
    reviews = _reviews(scene, sku)
    return str(_read(reviews, "reviews", -1, "ratings", 0, "percent")) if reviews else ""


def reddit_get_post_url(_: Scene, url: str) -> str:
    """Return the address of the post that an address of a post or of a comment belongs to; any other as it is.

    >>> reddit_get_post_url(None, "http://forum.test/f/books/12/a-title/-/comment/3")
    'http://forum.test/f/books/12/'
    """
    parts = urlsplit(url)
    path = parts.path.split("/")
    if len(path) < 4 or path[1] != "f":
        return url
    return f"{parts.scheme}://{parts.netloc}/f/{path[2]}/{path[3]}/"


def gitlab_get_project_memeber_role(scene: Scene, account_name: str) -> str:
    """Return the role of a member on the page that lists a project's members; empty for no member."""
    try:
        return str(scene.run(_ROLE % json.dumps(account_name)))
    except ScriptError:
        return ""


_ALL = (
    shopping_get_latest_order_url, shopping_get_sku_latest_review_author, shopping_get_sku_latest_review_rating, reddit_get_post_url,
    gitlab_get_project_memeber_role,
)  # fmt: skip
HELPERS: Mapping[str, Callable[..., str]] = {function.__name__: function for function in _ALL}
"""The functions that a task file may call, by name: (scene, arguments...) -> text."""


def _shop(scene: Scene) -> str:
    if _SHOP not in scene.urls:
        raise EvaluationError("the helper needs the shop, but sites= names no shopping")
    return scene.urls[_SHOP].rstrip("/")


def _ask_shop(scene: Scene, path: str) -> Any:
    account = account_of("shopping_admin", scene.accounts)
    assert account is not None
    credentials = {"username": account.user, "password": account.password}
    try:
        token = request_json(f"{_shop(scene)}/rest/default/V1/integration/admin/token", credentials)
        return request_json(f"{_shop(scene)}{path}", token=str(token))
    except ServerError as error:
        raise EvaluationError(f"the shop does not tell its administrator: {error}") from error


def _reviews(scene: Scene, sku: str) -> Any:
    return _ask_shop(scene, f"/rest/V1/products/{quote(sku, safe='')}/reviews")


def _read(said: Any, what: str, *path: str | int) -> Any:
    value = said
    try:
        for step in path:
            value = value[step]
    except (KeyError, IndexError, TypeError) as error:
        raise EvaluationError(f"the shop's {what} are not as expected: {str(said)[:200]}") from error
    return value
