"""Oracles of standard templates: the code host, the map, the forum, and tasks over several sites (see docs/oracles.md)."""

import re
from typing import Any

from tests.oracles import gitlab, reddit, wikipedia
from tests.oracles.framework import Case, Outcome, UnclearError, added, changed, consequence, only
from tests.oracles.map import PLURALS, _door, _roads, place_named, straight_metres, walking_minutes
from webarena_gym.sites.map.geometry import distance, duration
from webarena_gym.sites.map.routing import CAR, FOOT

ME = 1  # the signed-in user of each site

SHOWN = "state = 'visible' AND submission_id NOT IN (SELECT submission_id FROM hidden_submission WHERE user_id = ?)"
"""The condition on posts that pages of forums show to a user."""


def own_name(case: Case) -> str:
    return str(case.value("gitlab", "SELECT username FROM user WHERE user_id = ?", ME))


def contributed_most_starred(case: Case) -> Outcome:
    query = """SELECT p.name, (SELECT count(*) FROM star s WHERE s.project_id = p.project_id) AS stars FROM project p
        WHERE project_id IN (SELECT project_id FROM git_commit WHERE author_id = ?) ORDER BY stars DESC"""
    rows, count = case.rows("gitlab", query, ME), int(case["count"])
    if rows[count - 1]["stars"] == rows[count : count + 1][0]["stars"]:
        raise UnclearError("two projects have as many stars")
    return Outcome([row["name"] for row in rows[:count]])


def _issue_state(case: Case, order: str) -> Outcome:
    query = f"""SELECT i.*, namespace || '/' || path AS full_path FROM issue i JOIN project USING (project_id)
        WHERE author_id = ? AND instr(lower(title), lower(?)) ORDER BY {order} DESC"""
    issues = case.rows("gitlab", query, ME, case["word"])
    column = order.removeprefix("i.")
    if len(issues) > 1 and issues[0][column] == issues[1][column]:
        raise UnclearError("two issues are the latest")
    issue = issues[0]
    answer = "yes" if issue["state"] == "closed" else "no"
    return Outcome(answer, pages=[(f"/{issue['full_path']}/-/issues/{issue['iid']}", {})])


def created_issue_state(case: Case) -> Outcome:
    return _issue_state(case, "i.created_at")


def updated_issue_state(case: Case) -> Outcome:
    return _issue_state(case, "i.updated_at")


def feed_token(case: Case) -> Outcome:
    return Outcome(str(case.value("gitlab", "SELECT feed_token FROM user WHERE user_id = ?", ME)))


def invite(case: Case) -> Outcome:
    of = case.value("gitlab", "SELECT project_id FROM project WHERE owner_id = ? AND path = ?", ME, case["project"])
    outcome = Outcome()
    for name in case["people"].split(" and "):
        member = {"user_id": gitlab.user_named(case, name), "role": case["role"].capitalize()}
        outcome.changes.append(added("gitlab", "project_member", project_id=of, **member))
    return outcome


def issue_assign(case: Case) -> Outcome:
    topic = re.sub(r"^(the|an?) ", "", case["topic"]).lower()
    issue = only([i for i in gitlab.issues(case) if topic in i["title"].lower()], f"issues about {topic}")
    assignee = ME if case["person"] == "me" else gitlab.user_named(case, case["person"])
    return Outcome(changes=[added("gitlab", "issue_assignee", issue_id=issue["issue_id"], user_id=assignee)])


def list_place(case: Case) -> Outcome:
    pages = {
        "Show me all public projects": "/explore",
        "Show me the groups that I am in": "/dashboard/groups",
        "Show me the groups that are on this site": "/explore/groups",
        "Show me the projects in my own namespace": "/dashboard/projects/personal",
        "Show me the projects that I have made commits to": "/dashboard/projects/contributed",
        "Show me the projects that I have starred": "/dashboard/projects/starred",
    }
    return Outcome(pages=[(pages[case["request"]], {})])


def people_follow(case: Case) -> Outcome:
    people = [gitlab.user_named(case, name) for name in re.split(", | and ", case["people"])]
    return Outcome(changes=[added("gitlab", "follow", follower_id=ME, followed_id=person) for person in people])


def project_empty(case: Case) -> Outcome:
    new = {"namespace": own_name(case), "name": case["name"], "visibility": case["visibility"], "owner_id": ME}
    allowed = [consequence("gitlab", table) for table in ("project_member", "branch")]
    return Outcome(
        changes=[added("gitlab", "project", **new)], allowed=allowed, pages=[(f"/{own_name(case)}/{case['name']}", {})]
    )


def gitlab_sorted_place(case: Case) -> Outcome:
    """The page lists projects that are not private."""
    sorts = {
        "the newest": ("created_desc", "created_at"),
        "those with the most stars": ("stars_desc", "(SELECT count(*) FROM star s WHERE s.project_id = p.project_id)"),
    }
    if case["order"] not in sorts:
        raise UnclearError(f"the order {case['order']!r}")
    parameter, key = sorts[case["order"]]
    query = f"SELECT name, {key} AS sort_key FROM project p WHERE visibility != 'private' ORDER BY sort_key DESC LIMIT 2"
    first, second = case.rows("gitlab", query)
    if first["sort_key"] == second["sort_key"]:
        raise UnclearError("two projects are first")
    return Outcome(str(first["name"]), pages=[("/explore", {"sort": parameter})])


def star_one(case: Case) -> Outcome:
    number = case.value("gitlab", "SELECT project_id FROM project WHERE name = ?", case["project"])
    return Outcome(changes=[added("gitlab", "star", user_id=ME, project_id=number)])


def status_set(case: Case) -> Outcome:
    if case["status"] == "busy, without a message":
        return Outcome(changes=[changed("gitlab", "user", ME, is_busy=1)])
    return Outcome(changes=[changed("gitlab", "user", ME, status_message=case["status"].strip('"'))])


def todos_place(case: Case) -> Outcome:
    reasons = {
        "in which somebody mentioned me": "mentioned",
        "that ask me for a review": "review_requested",
        "that were assigned to me": "assigned",
    }
    return Outcome(pages=[("/dashboard/todos", {"type": reasons[case["reason"]]})])


def _nearest(case: Case, centre: dict[str, Any], condition: str, *parameters: Any) -> dict[str, Any]:
    """Return the place with the shortest straight distance. Raises UnclearError if pages show two such distances."""
    places = case.rows("map", f"SELECT * FROM place WHERE {condition} AND place_id != ?", *parameters, centre["place_id"])
    metres = sorted((straight_metres(case, centre, place), place["place_id"], place) for place in places)
    if distance(metres[0][0]) == distance(metres[1][0]):
        raise UnclearError(f"two places are listed with the distance {distance(metres[0][0])}")
    return metres[0][2]


def arrival(case: Case) -> Outcome:
    hotel = _nearest(case, place_named(case, case["place"]), "category = 'hotel' AND brand = ?", case["chain"])
    markets = case.rows("map", "SELECT * FROM place WHERE category = 'supermarket'")
    walks = sorted(_roads(case).route(FOOT, _door(hotel), _door(market)).metres for market in markets)
    return Outcome(f"{hotel['name']}; {distance(walks[0])}")


def nearest_name(case: Case) -> Outcome:
    return Outcome(str(_nearest(case, place_named(case, case["place"]), "category = ?", case["kind"])["name"]))


def none_within_walk(case: Case) -> Outcome:
    centre, category = place_named(case, case["place"]), PLURALS.get(case["kinds"], case["kinds"].removesuffix("s"))
    places = case.rows("map", "SELECT * FROM place WHERE category = ? AND place_id != ?", category, centre["place_id"])
    if not places:
        raise UnclearError(f"no place of the category {category!r}")
    near = [place["name"] for place in places if walking_minutes(case, centre, place) <= int(case["limit"])]
    return Outcome(near or "N/A")


def place_coordinates(case: Case) -> Outcome:
    place = place_named(case, case["place"])
    return Outcome([f"{place[column]:.5f}" for column in ("latitude", "longitude")])


def place_phone(case: Case) -> Outcome:
    return Outcome(str(place_named(case, case["place"])["phone"]))


def place_postcode(case: Case) -> Outcome:
    query = "SELECT s.postcode FROM place p JOIN street s USING (street_id) WHERE p.name = ?"
    return Outcome(str(case.value("map", query, case["place"])))


def place_website(case: Case) -> Outcome:
    return Outcome(str(place_named(case, case["place"])["website"]))


def town_drive(case: Case) -> Outcome:
    roads, query = _roads(case), "SELECT node_id FROM town WHERE name = ?"
    ends = (roads.crossing(case.value("map", query, case[slot])) for slot in ("first", "second"))
    return Outcome(duration(roads.route(CAR, *ends).minutes))


def _minutes(case: Case, mode: Any, first: str, second: str) -> int:
    ends = (_door(place_named(case, name)) for name in (first, second))
    return int(_roads(case).route(mode, *ends).minutes)


def walk_or_drive(case: Case) -> Outcome:
    walking, driving = (duration(_minutes(case, mode, case["first"], case["second"])) for mode in (FOOT, CAR))
    return Outcome(f"walking: {walking}; driving: {driving}")


def walk_then_drive(case: Case) -> Outcome:
    total = _minutes(case, FOOT, case["first"], case["second"]) + _minutes(case, CAR, case["second"], case["third"])
    return Outcome(duration(total))


def within_reach(case: Case) -> Outcome:
    limits = {"one hour": 60, "one and a half hours": 90, "two hours": 120}
    if case["limit"] not in limits:
        raise UnclearError(f"the limit {case['limit']!r}")
    minutes = _minutes(case, CAR, case["first"], case["second"])
    return Outcome(f"{'Yes' if minutes <= limits[case['limit']] else 'No'}; {duration(minutes)}")


def add_moderator(case: Case) -> Outcome:
    forum = case.value("reddit", "SELECT forum_id FROM moderator WHERE user_id = ?", ME)
    return Outcome(changes=[added("reddit", "moderator", forum_id=forum, user_id=reddit.user_id(case, case["user"]))])


def like_all(case: Case) -> Outcome:
    query = """SELECT s.* FROM submission s JOIN user u USING (user_id) JOIN forum f USING (forum_id)
        WHERE username = ? AND f.name = ? AND state = 'visible'"""
    return reddit.upvote_posts(case, case.rows("reddit", query, case["author"], case["forum"]))


def _best(case: Case, forum: str, count: int) -> list[dict[str, Any]]:
    """Return the posts that the user has not hidden with the most points. Raises UnclearError if the last place is shared."""
    query = f"""SELECT s.*, up - down AS points FROM submission s JOIN forum f USING (forum_id)
        WHERE f.name = ? AND {SHOWN} ORDER BY points DESC"""
    posts = case.rows("reddit", query, forum, ME)
    if posts[count - 1]["points"] == posts[count]["points"]:
        raise UnclearError("two posts have as many points")
    return posts[:count]


def comment_in_forum(case: Case) -> Outcome:
    if case["place"] == "highest rated":
        return reddit.commented(_best(case, case["forum"], 1)[0], case["text"])
    if case["place"] != "newest":
        raise UnclearError(f"the {case['place']} post")
    query = (
        f"SELECT s.* FROM submission s JOIN forum f USING (forum_id) WHERE f.name = ? AND {SHOWN} ORDER BY s.created_at DESC"
    )
    posts = case.rows("reddit", query, case["forum"], ME)
    if len(posts) > 1 and posts[0]["created_at"] == posts[1]["created_at"]:
        raise UnclearError("two posts are the newest")
    return reddit.commented(posts[0], case["text"])


def mention(case: Case) -> Outcome:
    posts = [post for post in _best(case, case["forum"], 10) if case["name"] in f"{post['title']} {post['body']}"]
    author = only(posts, "posts that mention it")["user_id"]
    return Outcome(str(case.value("reddit", "SELECT username FROM user WHERE user_id = ?", author)))


def recommendation_in_forum(case: Case) -> Outcome:
    forum = reddit.forum_named(case, case["forum"])["forum_id"]
    post = {"forum_id": forum, "user_id": ME, "title": case["title"], "body": case["text"], "url": None}
    return Outcome(changes=[added("reddit", "submission", **post)], allowed=[consequence("reddit", "submission_vote")])


def unpopular_comments(case: Case) -> Outcome:
    forum = reddit.forum_named(case, case["forum"])["forum_id"]
    query = f"SELECT user_id FROM submission WHERE forum_id = ? AND {SHOWN} ORDER BY created_at DESC LIMIT 1"
    author = case.value("reddit", query, forum, ME)
    query = """SELECT count(*) FROM comment c JOIN submission s USING (submission_id)
        WHERE c.user_id = ? AND c.state = 'visible' AND s.state = 'visible' AND c.down > c.up"""
    name = case.value("reddit", "SELECT username FROM user WHERE user_id = ?", author)
    return Outcome(f"{case.value('reddit', query, author)}; {name}")


def vote_best(case: Case) -> Outcome:
    place = ("first", "second", "third", "fourth", "fifth").index(case["place"])
    posts = _best(case, case["forum"], place + 1)
    if place and posts[place - 1]["points"] == posts[place]["points"]:
        raise UnclearError("two posts have as many points")
    vote = {"submission_id": posts[place]["submission_id"], "user_id": ME, "choice": 1 if case["choice"] == "Upvote" else -1}
    return Outcome(changes=[added("reddit", "submission_vote", **vote)])


def drive_to_best_university(case: Case) -> Outcome:
    query = """SELECT a.title, (SELECT count(DISTINCT who.article_id) FROM fact who JOIN fact prize USING (article_id)
            WHERE who.label = 'Alma mater' AND who.target = a.title AND prize.label = 'Award') AS winners
        FROM article a JOIN fact s ON s.article_id = a.article_id AND s.label = 'State'
        WHERE a.kind = 'university' AND (s.target = ? OR ? IN (SELECT title FROM article WHERE kind = 'country'))
        ORDER BY winners DESC"""
    rows = case.rows("wikipedia", query, case["region"], case["region"])
    if len(rows) > 1 and rows[0]["winners"] == rows[1]["winners"]:
        raise UnclearError("two universities have as many winners")
    ends = (_door(place_named(case, name)) for name in (case["place"], rows[0]["title"]))
    shown = distance(_roads(case).route(CAR, *ends).metres)
    if not shown.endswith(" km"):
        raise UnclearError(f"the map shows {shown}")
    return Outcome(float(shown.removesuffix(" km")))


def share_repository(case: Case) -> Outcome:
    query = """SELECT p.namespace || '/' || p.path AS address, (SELECT count(*) FROM star s WHERE s.project_id = p.project_id) AS stars
        FROM project p WHERE instr(lower(p.description), lower(?)) AND visibility != 'private' ORDER BY stars DESC"""
    rows = case.rows("gitlab", query, case["topic"])
    if len(rows) > 1 and rows[0]["stars"] == rows[1]["stars"]:
        raise UnclearError("two projects have as many stars")
    query = "SELECT DISTINCT forum_id FROM forum LEFT JOIN forum_tag USING (forum_id) WHERE name = 'programming' OR tag = 'programming'"
    forums = set(case.values("reddit", query))
    post = {"forum_id": lambda forum: forum in forums, "user_id": ME, "title": case["title"], "body": ""}
    post["url"] = lambda url: (
        url.partition("//")[2].partition("/")[2].rstrip("/") == rows[0]["address"] or url.endswith(f"/{rows[0]['address']}")
    )
    return Outcome(changes=[added("reddit", "submission", **post)], allowed=[consequence("reddit", "submission_vote")])


def stadium_route(case: Case) -> Outcome:
    stadium = wikipedia.fact(case, "Home stadium", case["team"])
    return Outcome(pages=[("/directions", {"from": case["place"], "to": stadium, "mode": "car"})])


def winners_readme(case: Case) -> Outcome:
    text = wikipedia.newest(case, wikipedia.article_id(case, case["prize"]))["text"]
    winners = re.findall(r"\| (\d{4}) \| \[\[([^\]|]+)", text)
    expected = {name for year, name in winners if year[:3] == case["decade"][:3]}
    others = {name for _, name in winners} - expected

    def names_them(content: str) -> bool:
        return all(name in content for name in expected) and not any(name in content for name in others)

    project = {"namespace": own_name(case), "name": case["name"], "owner_id": ME}
    allowed = [consequence("gitlab", table) for table in ("project_member", "branch")]
    return Outcome(
        changes=[added("gitlab", "project", **project), added("gitlab", "file", path="README.md", content=names_them)],
        allowed=allowed,
    )


def urls_of_missing_forum(case: Case) -> Outcome:
    forums = case.values("reddit", "SELECT name FROM forum WHERE name = ?", case["forum"])
    if not forums:
        return Outcome("N/A")
    query = "SELECT branch_id FROM project p JOIN branch b ON b.project_id = p.project_id AND b.name = p.default_branch WHERE owner_id = ? AND path = ?"
    branch, path = case.value("gitlab", query, ME, case["project"]), f"{case['folder']}/urls.txt"

    def is_address(content: str) -> bool:
        return bool(re.fullmatch(rf"http://[^/\s]+/f/{re.escape(forums[0])}/?", content.strip()))

    return Outcome(changes=[added("gitlab", "file", branch_id=branch, path=path, content=is_address)])


ORACLES = {
    "gitlab.contributed_most_starred": contributed_most_starred,
    "gitlab.created_issue_state": created_issue_state,
    "gitlab.feed_token": feed_token,
    "gitlab.invite_one": invite,
    "gitlab.invite_two": invite,
    "gitlab.issue_assign": issue_assign,
    "gitlab.list_place": list_place,
    "gitlab.people_follow": people_follow,
    "gitlab.project_empty": project_empty,
    "gitlab.sorted_place": gitlab_sorted_place,
    "gitlab.star_one": star_one,
    "gitlab.status_set": status_set,
    "gitlab.todos_place": todos_place,
    "gitlab.updated_issue_state": updated_issue_state,
    "map.arrival": arrival,
    "map.nearest_name": nearest_name,
    "map.none_within_walk": none_within_walk,
    "map.place_coordinates": place_coordinates,
    "map.place_phone": place_phone,
    "map.place_postcode": place_postcode,
    "map.place_website": place_website,
    "map.town_drive": town_drive,
    "map.walk_or_drive": walk_or_drive,
    "map.walk_then_drive": walk_then_drive,
    "map.within_reach": within_reach,
    "reddit.add_moderator": add_moderator,
    "reddit.comment_in_forum": comment_in_forum,
    "reddit.like_all": like_all,
    "reddit.mention": mention,
    "reddit.recommendation_in_forum": recommendation_in_forum,
    "reddit.unpopular_comments": unpopular_comments,
    "reddit.vote_best": vote_best,
    "several.drive_to_best_university": drive_to_best_university,
    "several.share_repository": share_repository,
    "several.stadium_route": stadium_route,
    "several.urls_of_missing_forum": urls_of_missing_forum,
    "several.winners_readme": winners_readme,
}
