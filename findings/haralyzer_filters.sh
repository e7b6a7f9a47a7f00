#!/usr/bin/env bash
# haralyzer 2.4.0: the entries of a page, and filters by status code.
#
# Guess: the filter "4.*" selects the client errors; `response.text` is the text of the body; each entry is in some page.
# Seen:  the expression may match anywhere in the code: "4.*" selects 204 and 304, too, and "2.*" selects 302 and 502. A body that
#        the file stores in Base64 is not decoded. An entry whose page is not in the list of pages is in no page, while one without
#        `pageref` is in a page "unknown". "^4" selects the client errors.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet haralyzer==2.4.0
"$folder/venv/bin/python" - <<'PYTHON'
from haralyzer import HarParser


def entry(status, **more):
    content = {"size": 5, "mimeType": "text/html", "text": "aGVsbG8=", "encoding": "base64"}
    common = {"httpVersion": "HTTP/1.1", "headers": [], "cookies": [], "headersSize": -1, "bodySize": 0}
    return {
        "startedDateTime": "2026-01-01T10:00:00.000Z",
        "time": 1,
        "request": {"method": "GET", "url": f"http://shop.test/{status}", "queryString": [], **common},
        "response": {"status": status, "statusText": "", "redirectURL": "", "content": content, **common},
        "cache": {},
        "timings": {"send": 0, "wait": 1, "receive": 0},
        **more,
    }


page = {"id": "page_1", "title": "Shop", "startedDateTime": "2026-01-01T10:00:00.000Z", "pageTimings": {"onLoad": 1}}
entries = [entry(status, pageref="page_1") for status in (200, 204, 302, 304, 404, 422, 502)]
entries += [entry(201, pageref="page_2"), entry(202)]
log = {"version": "1.2", "creator": {"name": "example", "version": "1"}, "pages": [page], "entries": entries}
pages = {page.page_id: page for page in HarParser({"log": log}).pages}
for pattern, expected in (("2.*", [200, 204, 302, 422, 502]), ("4.*", [204, 304, 404, 422]), ("^4", [404, 422])):
    seen = [found.status for found in pages["page_1"].filter_entries(status_code=pattern)]
    print(f"status {pattern}: {seen}")
    assert seen == expected, f"the behaviour has changed; expected {expected}"
print("text of the body 'hello':", pages["page_1"].entries[0].response.text)
assert pages["page_1"].entries[0].response.text == "aGVsbG8="
listed = {name: [found.status for found in page.entries] for name, page in pages.items()}
print("entries of the pages:", listed)
assert listed == {"unknown": [202], "page_1": [200, 204, 302, 304, 404, 422, 502]}
PYTHON
