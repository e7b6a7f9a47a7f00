#!/usr/bin/env bash
# pint 0.25.3: amounts of a page as quantities.
#
# Guess: a text that is no quantity is an error, and two quantities next to each other are not one.
# Seen:  characters that are no expression are skipped, and what stands next to each other is multiplied: "1 1/2 cup" is 0.5 cup,
#        "1 000 m" is 0 m, "10:30" is 300, "5 lb 3 oz" is 15 ounces times pound, and "5 – 7 m" (with an en dash) is 35 m. Commas are
#        removed: "3,75 m" is 375 m. "$5" and 5' are 5 without a unit; "5 fl oz" contains femtoliters, and 5 k Boltzmann's constant.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet pint==0.25.3
"$folder/venv/bin/python" - <<'PYTHON'
import pint

registry = pint.UnitRegistry()
for text, expected in (
    ("2 min", "2 minute"),
    ("1 1/2 cup", "0.5 cup"),
    ("1 000 m", "0 meter"),
    ("3,75 m", "375 meter"),
    ("10:30", "300 dimensionless"),
    ("5 lb 3 oz", "15 ounce * pound"),
    ("3 feet 2 inches", "6 foot * inch"),
    ("2 min 30", "60 minute"),
    ("1 hour 30 minutes", "30 hour * minute"),
    ("5 – 7 m", "35 meter"),
    ("$5", "5 dimensionless"),
    ("5'", "5 dimensionless"),
    ("5 fl oz", "5 femtoliter * ounce"),
    ("100 k", "100 boltzmann_constant"),
    ("5 Gb", "5 gilbert"),
):
    seen = str(registry.Quantity(text))
    print(f"{text!r}: {seen}")
    assert seen == expected, f"the behaviour has changed; expected {expected}"
for text in ("5 stars", "2 dozen"):
    try:
        registry.Quantity(text)
    except pint.UndefinedUnitError as error:
        print(error)
    else:
        raise AssertionError("the behaviour has changed; expected an UndefinedUnitError")
PYTHON
