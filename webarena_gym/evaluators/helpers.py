"""The helper functions that official task files call by name (`func:...`). Function names are spelled as in WebArena.

Two known faults of WebArena's functions are kept, so that verdicts agree with its own: the latest order is the latest of the
whole shop, not of the user, and its number is used as its id.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

from webarena_gym.addresses import Account, find_account
from webarena_gym.clients.rest import request_json
from webarena_gym.errors import EvaluationError, ScriptError, ServerError

_SHOP = "__SHOPPING__"
_ROLE = """(() => {
  const names = [...document.querySelectorAll("td[data-label='Account'] span.gl-avatar-labeled-sublabel")];
  const index = names.findIndex((name) => name.outerText === "@" + %s);
  return document.querySelectorAll("td.col-max-role span")[index].outerText;
})()"""


class HelperContext(NamedTuple):
    """Input of a helper function.

    `run` evaluates a JavaScript expression in the page and returns its value; `urls` holds base URLs by placeholder, and
    `accounts` the accounts by site.
    """

    run: Callable[[str], Any]
    urls: Mapping[str, str]
    accounts: Mapping[str, Account]


def shopping_get_latest_order_url(context: HelperContext) -> str:
    """Return the URL of the shop's newest order."""
    query = {
        "searchCriteria[sortOrders][0][field]": "created_at",
        "searchCriteria[sortOrders][0][direction]": "DESC",
        "searchCriteria[pageSize]": "1",
    }
    orders = _request_shop(context, f"/rest/V1/orders?{urlencode(query)}")
    number = _extract(orders, "orders", "items", 0, "increment_id")
    return f"{_shop_url(context)}/sales/order/view/order_id/{int(number)}/"


def shopping_get_sku_latest_review_author(context: HelperContext, sku: str) -> str:
    """Return the author of the newest review of a product; empty without reviews."""
    reviews = _request_reviews(context, sku)
    return str(_extract(reviews, "reviews", -1, "nickname")) if reviews else ""


def shopping_get_sku_latest_review_rating(context: HelperContext, sku: str) -> str:
    """Return the rating of the newest review of a product, in percent; empty without reviews."""
    reviews = _request_reviews(context, sku)
    return str(_extract(reviews, "reviews", -1, "ratings", 0, "percent")) if reviews else ""


def reddit_get_post_url(_: HelperContext, url: str) -> str:
    """Return the URL of a post, from its own URL or that of one of its comments; any other URL is returned unchanged.

    >>> reddit_get_post_url(None, "http://forum.test/f/books/12/a-title/-/comment/3")
    'http://forum.test/f/books/12/'
    """
    parts = urlsplit(url)
    path = parts.path.split("/")
    if len(path) < 4 or path[1] != "f":
        return url
    return f"{parts.scheme}://{parts.netloc}/f/{path[2]}/{path[3]}/"


def gitlab_get_project_memeber_role(context: HelperContext, account_name: str) -> str:
    """Return the role of a user on the current page, a project's list of members; empty for a user who is not a member."""
    try:
        return str(context.run(_ROLE % json.dumps(account_name)))
    except ScriptError:
        return ""


_ALL = (
    shopping_get_latest_order_url, shopping_get_sku_latest_review_author, shopping_get_sku_latest_review_rating, reddit_get_post_url,
    gitlab_get_project_memeber_role,
)  # fmt: skip
HELPERS: Mapping[str, Callable[..., str]] = {function.__name__: function for function in _ALL}
"""The functions that a task file may call, by name: (context, arguments...) -> text."""


def _shop_url(context: HelperContext) -> str:
    if _SHOP not in context.urls:
        raise EvaluationError("the helper needs the shop, but sites= has no address for shopping")
    return context.urls[_SHOP].rstrip("/")


def _request_shop(context: HelperContext, path: str) -> Any:
    """Return the JSON of a request to the shop's REST API as its administrator."""
    account = find_account("shopping_admin", context.accounts)
    assert account is not None
    credentials = {"username": account.user, "password": account.password}
    try:
        token = request_json(f"{_shop_url(context)}/rest/default/V1/integration/admin/token", credentials)
        return request_json(f"{_shop_url(context)}{path}", token=str(token))
    except ServerError as error:
        raise EvaluationError(f"the shop's REST API failed for its administrator: {error}") from error


def _request_reviews(context: HelperContext, sku: str) -> Any:
    return _request_shop(context, f"/rest/V1/products/{quote(sku, safe='')}/reviews")


def _extract(response: object, what: str, *path: str | int) -> Any:
    """Return the value at a path of keys and indices; `what` names the response in the error."""
    value: Any = response
    try:
        for key in path:
            value = value[key]
    except (KeyError, IndexError, TypeError) as error:
        raise EvaluationError(
            f"unexpected response of the shop for {what}, without {list(path)}: {str(response)[:200]}"
        ) from error
    return value
