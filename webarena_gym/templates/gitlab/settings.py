"""My profile, my tokens and my snippets."""

from datetime import timedelta
from typing import Any

from webarena_gym.tasks import template as t
from webarena_gym.templates.gitlab.issues import today
from webarena_gym.templates.gitlab.routes import ME
from webarena_gym.templates.gitlab.ways import new_rows, open_settings
from webarena_gym.templates.ways import instruction

PROFILE = ("name", "bio", "website", "location", "job_title", "organization", "pronouns", "status_message", "is_busy")
"""The columns of a profile; emoji are left to taste."""

STATUSES = (
    "Enjoying life",
    "Out for lunch",
    "Deep in a refactoring",
    "Reviewing all day",
    "On a train",
    "Hunting a bug",
    "Away from keyboard",
)
JOBS = ("Release manager", "Data engineer", "Technical lead", "Accessibility expert", "Compiler writer", "Security analyst")
COMPANIES = (
    "Northwind Traders",
    "Blue Harbor Labs",
    "The Map Room",
    "Corner Bakery Software",
    "Tall Ships Institute",
    "Paper Moon",
)
SITES = ("helloworld.xyz", "egg-tart.example.com", "my-notes.example.org", "blue-bicycle.net", "garden-of-code.dev")
SNIPPETS = (
    ("Clean up merged branches", "clean.sh", "git branch --merged | grep -v main | xargs git branch -d"),
    ("Find large files", "large.sh", "find . -size +10M -print"),
    ("Read lines lazily", "lines.py", "for line in open(path): print(line.rstrip())"),
    ("Center a box", "center.css", ".box { margin: 0 auto; }"),
)
TOKENS = f"SELECT name FROM access_token WHERE user_id = {ME} AND NOT is_revoked ORDER BY name"


def feed_token(world: t.Sampler) -> t.Draw:
    """Ask for my feed token; there is one draw in a world."""
    token, other = (world.value("SELECT feed_token FROM user WHERE user_id = ?", user_id) for user_id in (ME, ME + 1))
    return t.Draw(
        slots={},
        eval=t.answer(fuzzy_match=token),
        solution=[*open_settings("Access tokens"), t.leave(token)],
        wrong_answers=[other],
    )


def profile_holds(world: t.Sampler, **changed: Any) -> dict[str, Any]:
    """My profile must be what it was, but for these columns; a website may be written with or without https://."""
    site = "rtrim(replace(replace(website, 'https://', ''), 'http://', ''), '/')"
    columns = ", ".join(site if name == "website" else name for name in PROFILE)
    query = f"SELECT {columns} FROM user WHERE user_id = {ME}"
    before = dict(zip(PROFILE, world.rows(query)[0], strict=True))
    return t.state(query, expected=[list((before | changed).values())])


def status_set(world: t.Sampler) -> t.Draw:
    """Set my status message, or that I am busy."""
    status = world.rng.choice((*(f'"{text}"' for text in STATUSES), "busy, without a message"))
    busy = status.startswith("busy")
    message = "" if busy else status.strip('"')
    step = t.click("Busy") if busy else t.type_text("Status message (optional)", message)
    return instruction(
        {"status": status},
        profile_holds(world, status_message=message, is_busy=int(busy)),
        way=[*open_settings(), step, t.click("Update profile settings")],
    )


def website_set(world: t.Sampler) -> t.Draw:
    """Set the website of my profile."""
    site = world.rng.choice(SITES)
    written = world.rng.choice((site, f"https://{site}"))
    return instruction(
        {"site": written},
        profile_holds(world, website=site),
        way=[*open_settings(), t.type_text("Website (optional)", written), t.click("Update profile settings")],
    )


def profile_set(world: t.Sampler) -> t.Draw:
    """Change three fields of my profile."""
    job, company = world.rng.choice(JOBS), world.rng.choice(COMPANIES)
    town = world.rng.choice(("Lisbon", "Tromsø", "Kyoto", "Valparaíso", "Nairobi"))
    return instruction(
        {"job": job, "company": company, "town": town},
        profile_holds(world, job_title=job, organization=company, location=town),
        way=[
            *open_settings(),
            t.type_text("Location (optional)", town),
            t.type_text("Job title (optional)", job),
            t.type_text("Organization (optional)", company),
            t.click("Update profile settings"),
        ],
    )


def token_revoke(world: t.Sampler) -> t.Draw:
    """Revoke one of my tokens."""
    names = [row["name"] for row in world.rows(TOKENS)]
    if not names:
        raise t.NothingToDraw("a token of mine")
    name = world.rng.choice(names)
    return instruction(
        {"name": name},
        t.state(TOKENS, expected=[[other] for other in names if other != name]),
        way=[*open_settings("Access tokens"), t.click(f"Revoke {name}")],
    )


def token_create(world: t.Sampler) -> t.Draw:
    """Make a token with one scope and a last day."""
    name = world.rng.choice(("ci runner", "mirror job", "phone app", "backup script", "dashboard widget"))
    scope, meaning = world.rng.choice((("read_api", "read access to the API"), ("read_user", "read access to your profile")))
    ends = today(world) + timedelta(days=world.rng.randint(20, 300))
    return instruction(
        {"name": name, "scope": scope, "date": f"{ends:%B} {ends.day}, {ends.year}"},
        t.state(
            f"SELECT name, scopes, expires_on FROM access_token WHERE user_id = {ME} AND token_id > ? AND NOT is_revoked",
            world.value("SELECT max(token_id) FROM access_token"),
            expected=[[name, scope, str(ends)]],
        ),
        way=[
            *open_settings("Access tokens"),
            t.type_text("Token name", name),
            t.type_text("Expiration date (optional)", str(ends)),
            t.click(f"{scope}: {meaning}"),
            t.click("Create personal access token"),
        ],
    )


def snippet_create(world: t.Sampler) -> t.Draw:
    """Store a snippet."""
    title, file_name, content = world.rng.choice(SNIPPETS)
    visibility = world.rng.choice(("public", "internal", "private"))
    snippet_id = world.value("SELECT coalesce(max(snippet_id), 0) + 1 FROM snippet")
    expected = [[ME, title, file_name, content, visibility]]
    return instruction(
        {"visibility": visibility, "title": title, "file": file_name, "content": content},
        t.all_of(
            t.at_url(f"__GITLAB__/-/snippets/{snippet_id}"),
            new_rows(world, "snippet", "author_id, title, file_name, trim(content), visibility", expected),
        ),
        way=[
            t.click("New snippet"),
            t.type_text("Title", title),
            t.type_text("File name (optional)", file_name),
            t.type_text("Content", content),
            t.click(visibility.capitalize()),
            t.click("Create snippet"),
        ],
    )
