"""The pages: the sites, the accounts, the calculator and the scratchpad."""

from webarena_gym.sites.homepage.arithmetic import OPERATIONS, calculate, read
from webarena_gym.sites.homepage.base import doors, site
from webarena_gym.sites.kit.requests import Request, Response

LONGEST_NOTE = 10_000  # characters
_DROPPED = dict.fromkeys([*range(9), *range(11, 32), 127, *range(0xD800, 0xE000)])  # control characters but tab and newline


@site.get("/")
def home(request: Request) -> str:
    """List the sites."""
    return request.render("home.html", doors=doors(request), owner=_owner(request))


@site.get("/accounts")
def accounts(request: Request) -> str:
    """Say under which name the user is known on each site."""
    return request.render("accounts.html", doors=doors(request), owner=_owner(request))


def _owner(request: Request) -> dict[str, str]:
    return dict(request.db.execute("SELECT * FROM owner").fetchone())


@site.get("/calculator")
def calculator(request: Request) -> str:
    """Do one operation on two numbers."""
    first, operation, second = (request.args.get(name, "")[:100] for name in ("first", "operation", "second"))
    request.shows({"first": first, "operation": operation, "second": second} if first or second else {})
    result = error = ""
    if first or second:
        numbers = read(first), read(second)
        if numbers[0] is None or numbers[1] is None:
            error = "Please enter two numbers, such as 12 and 3.5."
        else:
            try:
                result = calculate(numbers[0], operation, numbers[1])
            except ValueError as reason:
                error = str(reason)
    values = {"first": first, "operation": operation, "second": second}
    return request.render("calculator.html", operations=OPERATIONS, values=values, result=result, error=error)


@site.get("/scratchpad")
def scratchpad(request: Request) -> str:
    """Show the note."""
    return request.render("scratchpad.html", note=request.db.execute("SELECT * FROM note").fetchone(), text=None, error="")


@site.post("/scratchpad")
def save_note(request: Request) -> str | Response:
    """Save the note in place of the one before; an empty one clears the scratchpad."""
    text = request.form.get("text", "").replace("\r\n", "\n").translate(_DROPPED).strip()
    if len(text) > LONGEST_NOTE:
        note = request.db.execute("SELECT * FROM note").fetchone()
        error = f"The note is too long: {len(text)} characters, {LONGEST_NOTE} at most."
        return request.render("scratchpad.html", note=note, text=text, error=error)
    request.db.execute("DELETE FROM note")
    if text:
        request.db.execute("INSERT INTO note VALUES (?, ?)", (text, request.stamp))
    return request.redirect("/scratchpad", "The note was saved." if text else "The scratchpad was cleared.")
