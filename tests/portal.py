"""An application with a log-in form, a session cookie, and a page for users who are signed in."""

from werkzeug.wrappers import Request, Response

from webarena_gym.addresses import (
    Account,
)
from webarena_gym.logins import Login

FORM = "<form method=post action=/in><input name=user><input name=password type=password><button>In</button></form><p>{}"


LOGIN = Login("/in", "[name=user]", "[name=password]", "/me")


ANN = Account("ann", "pw")


@Request.application
def portal(request):
    """An application with a form, a cookie, and a page for those who have it."""
    if request.path == "/in" and request.form:
        if request.form.to_dict() != {"user": "ann", "password": "pw"}:
            return Response(FORM.format("That is not right."), mimetype="text/html")
        answer = Response("", status=303, headers={"Location": "/"})
        answer.set_cookie("who", "ann")
        return answer
    if request.path == "/me" and request.cookies.get("who") != "ann":
        return Response("", status=302, headers={"Location": "/in"})
    return Response(FORM.format("") if request.path == "/in" else "<p>Hello", mimetype="text/html")
