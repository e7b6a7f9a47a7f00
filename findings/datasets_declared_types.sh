#!/usr/bin/env bash
# datasets 5.0.1: values that do not fit their declared type, and values that `map` changes.
#
# Guess: `from_list` with declared features is as strict as `cast_column`, and a column has the type of what `map` returned.
# Seen:  with `Value("int64")` a reward of 0.5 is stored as 0 and "5" as 5, with `Value("bool")` the text "no" is True; `cast_column`
#        refuses the first and reads "false" as False. Texts that `map` returns for a column of integers are integers again if they
#        all can be read as such ("007" is 7, "1.50" 1.5), so that the conversion to text has no effect. A key that `map` returns for
#        later rows only is dropped, as are the keys of `from_list` that the first row does not have.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet datasets==5.0.1 pyarrow==26.0.1 pandas==3.1.1 numpy==2.1.3
HF_HOME="$folder/cache" HF_HUB_OFFLINE=1 "$folder/venv/bin/python" - <<'PYTHON'
from datasets import Dataset, Features, Value, disable_progress_bars

disable_progress_bars()


def declared(values, type_):
    return Dataset.from_list([{"x": value} for value in values], features=Features({"x": Value(type_)}))["x"][:]


for values, type_, expected in (
    ([0.5, 1, -0.7], "int64", [0, 1, 0]),
    (["5", 1], "int64", [5, 1]),
    (["no", "", "false"], "bool", [True, False, True]),
    ([1, 1.50, True], "string", ["1", "1.5", "True"]),
):
    seen = declared(values, type_)
    print(f"{values} as {type_}: {seen}")
    assert seen == expected, f"the behaviour has changed; expected {expected}"
try:
    Dataset.from_list([{"x": 0.5}]).cast_column("x", Value("int64"))
except Exception as error:
    print(f"cast_column: {error}")
else:
    raise AssertionError("the behaviour has changed; expected an error")
assert Dataset.from_list([{"x": "false"}]).cast_column("x", Value("bool"))["x"][:] == [False]


def mapped(values, texts):
    pairs = dict(zip(values, texts))
    return Dataset.from_list([{"x": value} for value in values]).map(lambda row: {"x": pairs[row["x"]]})["x"][:]


for values, texts, expected in (
    ([1, 2], ["007", "12"], [7, 12]),
    ([1, 2], ["007", "none"], ["007", "none"]),
    ([0.5, 2.5], ["1.50", "2.00"], [1.5, 2.0]),
    ([True, False], ["yes", "no"], ["yes", "no"]),
    ([True, False], ["1", "0"], [True, False]),
):
    seen = mapped(values, texts)
    print(f"{values} mapped to {texts}: {seen}")
    assert seen == expected, f"the behaviour has changed; expected {expected}"

rows = Dataset.from_list([{"x": 1}, {"x": 2, "error": "no button"}])
print(rows.column_names)
assert rows.column_names == ["x"], "the behaviour has changed"
rows = rows.map(lambda row: {"error": "no button"} if row["x"] == 2 else {})
print(rows.column_names)
assert rows.column_names == ["x"], "the behaviour has changed"
PYTHON
