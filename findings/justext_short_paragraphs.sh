#!/usr/bin/env bash
# justext 3.0.2: the main text of a page whose paragraphs are short.
#
# Guess: paragraphs of 190 characters with ordinary words are content, as are those of 210.
# Seen:  a page without a paragraph of more than 200 characters is boilerplate from the first to the last word, also with 50 such
#        paragraphs. One longer paragraph makes its neighbours content, "Total: $59.99" between two of them too; behind the last one
#        the amounts of a table are lost. The links of a menu are one word, "HomeBags".
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet justext==3.0.2 lxml==6.1.3 lxml-html-clean==0.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import justext

WORDS = "This is the page of the order that was sent to you on the day of your visit and it is with all of the other things. "
stop_words = justext.get_stoplist("English")


def content(body):
    paragraphs = justext.justext(f"<html><body>{body}</body></html>".encode(), stop_words)
    return [paragraph.text for paragraph in paragraphs if not paragraph.is_boilerplate]


def paragraph(length):
    return f"<p>{(WORDS * 3)[:length].strip()}</p>"


for length, count, expected in ((190, 4, 0), (190, 50, 0), (210, 4, 4)):
    seen = len(content(paragraph(length) * count))
    print(f"{count} paragraphs of {length} characters: {seen} are content")
    assert seen == expected, f"the behaviour has changed; expected {expected}"

total, table = "<p>Total: $59.99</p>", "<table><tr><td>Shipping</td><td>$9.99</td></tr></table>"
for body, expected in ((paragraph(190) + total + paragraph(190), []), (paragraph(210) + total + paragraph(210) + table, ["Total: $59.99"])):
    seen = [text for text in content(body) if "$" in text]
    print(f"amounts in the content: {seen}")
    assert seen == expected, f"the behaviour has changed; expected {expected}"

menu = justext.justext(b'<html><body><nav><a href="/">Home</a> <a href="/bags">Bags</a></nav></body></html>', stop_words)[0].text
print(menu)
assert menu == "HomeBags", "the behaviour has changed"
PYTHON
