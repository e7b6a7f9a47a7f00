#!/usr/bin/env bash
# price-parser 0.5.1: which number of a text is the price, and how it is read.
#
# Guess: the number next to the currency sign is the amount, a minus sign is kept, and "0.999" is less than one.
# Seen:  without a percent sign the first number of the text is the amount, also if "$" stands before another one; the sign is
#        lost; three digits after the only point are thousands, also after a zero. `decimal_separator="."` mends the last.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet price-parser==0.5.1
"$folder/venv/bin/python" - <<'PYTHON'
from decimal import Decimal

from price_parser import Price

expected = {
    "10% off $20": "20",
    "SKU 123 $9.99": "123",
    "5 items, $3": "5",
    "-$5.00": "5.00",
    "$0.999": "999",
    "0.125 €": "125",
    "$0.99": "0.99",
}
for text, amount in expected.items():
    price = Price.fromstring(text)
    print(f"{text!r} -> {price.amount} {price.currency}")
    assert price.amount == Decimal(amount), f"the behaviour has changed; expected {amount}"
assert Price.fromstring("$0.999", decimal_separator=".").amount == Decimal("0.999")
PYTHON
