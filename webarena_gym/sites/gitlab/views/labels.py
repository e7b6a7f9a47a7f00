"""Labels: what issues and merge requests of a project are marked with."""

import re

from webarena_gym.sites.gitlab.base import can, find_project, my_id, site
from webarena_gym.sites.gitlab.forms import Field
from webarena_gym.sites.gitlab.items import VISIBLE_ITEM
from webarena_gym.sites.gitlab.plan_parts import Part, Values
from webarena_gym.sites.gitlab.planning import ISSUE
from webarena_gym.sites.kit.paging import Pager
from webarena_gym.sites.kit.requests import Request

PER_PAGE = 50
FIELDS = {
    "name": Field("Name"),
    "description": Field("Description", required=False, limit=1000),
    "color": Field("Color", limit=7),
}
_COLOR = re.compile(r"#[0-9a-f]{6}", re.IGNORECASE)
DEFAULT_COLOR = "#3d6b8f"


@site.get("/<namespace>/<path>/-/labels")
def labels(request: Request, namespace: str, path: str) -> str:
    """Show a project's labels, with how many open issues and merge requests have them."""
    project = find_project(request, namespace, path)
    bound = {"project_id": project["project_id"], "me": my_id(request)}
    (total,) = request.db.execute("SELECT count(*) FROM label WHERE project_id = :project_id", bound).fetchone()
    pager = Pager.of(request, total, PER_PAGE, "page")
    rows = request.db.execute(
        f"""
        SELECT l.*, (SELECT count(*) FROM issue_label i JOIN issue t USING (issue_id)
                WHERE i.label_id = l.label_id AND t.state = 'opened' AND {VISIBLE_ITEM[ISSUE]}) AS issues,
            (SELECT count(*) FROM merge_request_label i JOIN merge_request t USING (merge_request_id)
                WHERE i.label_id = l.label_id AND t.state = 'opened') AS merge_requests
        FROM label l WHERE l.project_id = :project_id ORDER BY l.name COLLATE NOCASE LIMIT :limit OFFSET :first
        """,
        {**bound, "limit": pager.limit, "first": pager.first},
    ).fetchall()
    return request.render("labels.html", project=project, labels=rows, pager=pager, may_plan=can(request, project, "Reporter"))


def _check(values: Values, errors: list[str]) -> None:
    if values["color"] and not _COLOR.fullmatch(values["color"]):
        errors.append("Color must be written as '#' and six hexadecimal digits, such as #3d6b8f.")


LABEL = Part(
    noun="label",
    key="label_id",
    named_by="name",
    fields=FIELDS,
    blank={"name": "", "description": "", "color": DEFAULT_COLOR},
    nullable=frozenset(),
    check=_check,
    taken="Name has already been taken.",
    forget=[f"DELETE FROM {table} WHERE label_id = ?" for table in ("issue_label", "merge_request_label")],
    has_page=False,
)
LABEL.register()
