#!/usr/bin/env bash
# fastwarc 2.0.1: reading responses that a server sent both compressed and in chunks.
#
# Guess: `ArchiveIterator(stream, auto_decode="all")` returns each record of the file, decoded, as warcio does.
# Seen:  after a response with both `Transfer-Encoding: chunked` and `Content-Encoding: gzip` the iteration ends: the records that
#        follow are missing, without an error. If each response has at most one of the two, all records are returned, as they are
#        with `auto_decode="none"`.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet fastwarc==2.0.1 warcio==1.8.1
"$folder/venv/bin/python" - <<'PYTHON'
import gzip
import io

import warcio.archiveiterator
from fastwarc.warc import ArchiveIterator
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

PAGE = b"<p>The price is $5.</p>"
GZIP, CHUNKED = ("Content-Encoding", "gzip"), ("Transfer-Encoding", "chunked")


def archive(*responses):
    stream = io.BytesIO()
    writer = WARCWriter(stream, gzip=True)
    for headers in responses:
        body = gzip.compress(PAGE) if GZIP in headers else PAGE
        if CHUNKED in headers:
            body = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (body[:10], body[10:])) + b"0\r\n\r\n"
        status = StatusAndHeaders("200 OK", [("Content-Type", "text/html"), *headers], protocol="HTTP/1.1")
        writer.write_record(writer.create_warc_record("http://shop.test/", "response", payload=io.BytesIO(body), http_headers=status))
    return stream.getvalue()


for responses, expected in (
    ([[], [GZIP], [CHUNKED], []], 4),
    ([[GZIP, CHUNKED], [], []], 1),
    ([[], [GZIP, CHUNKED], [], []], 2),
):
    data = archive(*responses)
    assert [record.content_stream().read() for record in warcio.archiveiterator.ArchiveIterator(io.BytesIO(data))] == [PAGE] * len(responses)
    assert sum(1 for _ in ArchiveIterator(io.BytesIO(data), auto_decode="none")) == len(responses)
    seen = [record.reader.read() for record in ArchiveIterator(io.BytesIO(data), auto_decode="all")]
    print(f"{len(responses)} responses, encoded {responses}: {len(seen)} records are read")
    assert seen == [PAGE] * expected, f"the behaviour has changed; expected {expected} records"
PYTHON
