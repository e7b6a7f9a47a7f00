"""Pages of our own that carry what the locators of the official task files look for, and the shop's interface for programs."""

import json
from urllib.parse import parse_qs

from werkzeug.wrappers import Request, Response

# Selectors of places that hold text, and of fields that hold a value, as the task files name them.
TEXTS = """#content-body|#order_status|.order-details-items.ordered|.user-bio__biography|.block.assignee|.block.due_date
.block.reviewer|.block.start_date|.comment__body|.detail-page-description|.home-panel-description-markdown
.products-grid.wishlist|.submission__body|.submission__inner|.submission__title|.user-profile|.data.item.content
div.admin__data-grid-filters-current"""
ATTRIBUTES = """data-index=category_ids|data-index=configurable|data-qa-selector=projects_list|data-qa-selector=title_content
data-role=selected-option|data-testid=sidebar-due-date|id=sidebar_content"""
FIELDS = """name=route_from|name=route_to|name=discount_amount|name=product[color]|name=product[name]|name=product[price]
name=product[quantity_and_stock_status][is_in_stock]|name=product[quantity_and_stock_status][qty]|name=product[size]
name=product[status]|name=product[sale]|name=simple_action|name=status_id|name=title|name=name|id=sales_report_from
id=sales_report_to|id=forum_description|id=forum_sidebar|title=What\u2019s on your mind?"""
OTHERS = """
<div id="sidebar"><section>-</section></div>
<div class="box box-address-billing"><div class="box-content">-</div></div>
<div class="box box-address-shipping"><div class="box-content">-</div></div>
<div id="order_history_block"><ul class="note-list"><li><p class="note-list-comment">-</p></li><li>older</li></ul></div>
<div class="cover-status"><b>at work</b><span>-</span></div>
<div class="profile-header"><a itemprop="url">-</a></div>
<i class="visibility-icon" title="-">seen by</i>
<ul id="notes-list"><li>older</li><li><div class="timeline-discussion-body">-</div></li></ul>
<div class="submission__vote"><form class="-"><button>Up</button></form></div>
<div class="detail-page-description">two <a class="gl-font-monospace">-</a> <a class="gl-font-monospace">-</a></div>
<div id="content"><select class="routing_engines"><option>0<option>1<option>2<option>3</select></div>
<select name="customer_group_ids"><option>0<option>1<option>2<option>3</select>
<select name="website_ids"><option>0<option>1<option>2<option>3</select>
<input type="checkbox" title="General Subscription">
<table><tr><td data-label="Account"><span class="gl-avatar-labeled-sublabel">@someone</span></td>
<td class="col-max-role"><span>Owner</span></td></tr>
<tr><td data-label="Account"><span id="member" class="gl-avatar-labeled-sublabel">-</span></td>
<td class="col-max-role"><span id="role">-</span></td></tr></table>
<div id="opened-by-preparation" hidden></div>
<div data-index="actions"><button class="admin__collapsible-title"
  onclick="document.getElementById('opened-by-preparation').hidden = false">Actions</button></div>
<p id="anywhere">-</p>
"""
DETAIL = ".detail-page-description"


def _split(listed):
    return [item for line in listed.splitlines() for item in line.split("|")]


def _element(selector):
    tag, _, classes = selector.partition(".")
    mark = f'id="{selector[1:]}"' if selector.startswith("#") else f'class="{classes.replace(".", " ")}"'
    tag = "div" if selector.startswith("#") else tag or "div"
    return f"<{tag} {mark}>-</{tag}>"


def page_for(locator):
    """Return a page with every place that the task files name; what two locators share is given to one of them."""
    texts = [selector for selector in _split(TEXTS) if not (selector == DETAIL and "monospace" in locator)]
    parts = [_element(selector) for selector in texts]
    parts += ['<div {}="{}">-</div>'.format(*pair.split("=", 1)) for pair in _split(ATTRIBUTES)]
    parts += ['<input {}="{}">'.format(*pair.split("=", 1)) for pair in _split(FIELDS)]
    return "<!doctype html><meta charset=utf-8><title>Places</title>" + "".join(parts) + OTHERS


class Shop:
    """What the shop tells its administrator over its interface for programs: the newest order, and reviews by product."""

    def __init__(self, page="<p>nothing"):
        self.page, self.order, self.broken = page, "000000170", ""
        self.reviews, self.requests = {}, []

    @Request.application
    def __call__(self, request):
        self.requests.append(request.path)
        if not request.path.startswith("/rest/"):
            return Response(self.page, mimetype="text/html")
        if self.broken == "down":
            return Response("no", status=503)
        if request.path.endswith("/integration/admin/token"):
            known = json.loads(request.data) == {"username": "admin", "password": "admin1234"}
            return Response(json.dumps("secret" if known else {"message": "no"}), status=200 if known else 401)
        if request.headers.get("Authorization") != "Bearer secret":
            return Response("{}", status=401)
        if self.broken:
            return Response(self.broken, mimetype="application/json")
        if request.path == "/rest/V1/orders":
            query = parse_qs(request.query_string.decode())
            assert query["searchCriteria[sortOrders][0][direction]"] == ["DESC"]
            return Response(json.dumps({"items": [{"increment_id": self.order}]}))
        return Response(json.dumps(self.reviews.get(request.path.split("/")[-2], [])))
