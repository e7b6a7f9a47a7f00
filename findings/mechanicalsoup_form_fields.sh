#!/usr/bin/env bash
# mechanicalsoup 1.4.0: the fields of a form that is submitted.
#
# Guess: `submit_selected` sends what a browser sends.
# Seen:  `<input type="reset">` and `<input type="button">` are sent with their values (as `button` elements they are not), and so are
#        fields of a disabled `fieldset` and a disabled first option. The query of the form's `action` stays before the fields, where
#        a browser replaces it, `formaction` of the submit button is ignored, and the name of an image button has an empty value
#        instead of coordinates.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet mechanicalsoup==1.4.0 beautifulsoup4==4.15.0 lxml==6.1.3 responses==0.26.3
"$folder/venv/bin/python" - <<'PYTHON'
import mechanicalsoup
import responses


def submit(form):
    with responses.RequestsMock(assert_all_requests_are_fired=False) as server:
        server.get("http://shop.test/", body=f"<!DOCTYPE html><html><body>{form}", content_type="text/html; charset=utf-8")
        server.get("http://shop.test/go", body="found")
        browser = mechanicalsoup.StatefulBrowser()
        browser.open("http://shop.test/")
        browser.select_form("form")
        return browser.submit_selected().request.url.removeprefix("http://shop.test")


for form, expected in (
    ('<form action="/go"><input name="q" value="1"><input type="reset" name="clear" value="Reset"></form>', "/go?q=1&clear=Reset"),
    ('<form action="/go"><input name="q" value="1"><button type="reset" name="clear" value="Reset">R</button></form>', "/go?q=1"),
    ('<form action="/go"><input name="q" value="1"><input type="button" name="help" value="Help"></form>', "/go?q=1&help=Help"),
    ('<form action="/go"><input name="q" value="1"><fieldset disabled><input name="off" value="2"></fieldset></form>', "/go?q=1&off=2"),
    ('<form action="/go"><select name="s"><option value="" disabled selected>Choose<option value="1">1</select></form>', "/go?s="),
    ('<form action="/go"><select name="s"><option value="0" disabled>0<option value="1">1</select></form>', "/go?s=0"),
    ('<form action="/go?page=7"><input name="q" value="1"></form>', "/go?page=7&q=1"),
    ('<form action="/go"><input name="q" value="1"><button name="b" value="2" formaction="/other">Go</button></form>', "/go?q=1&b=2"),
    ('<form action="/go"><input type="image" name="cart" src="cart.png"></form>', "/go?cart="),
):
    seen = submit(form)
    print(f"{form}: {seen}")
    assert seen == expected, f"the behaviour has changed; expected {expected}"
PYTHON
