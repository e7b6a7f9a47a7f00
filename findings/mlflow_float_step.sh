#!/usr/bin/env bash
# mlflow-skinny 3.17.2 with a store of files: a step that is a float.
#
# Guess: `log_metric("loss", 1.0, step=3.0)`, from a step that was computed, is an error, or is stored as 3.
# Seen:  it is accepted, and the run cannot be read any more: `get_run` and `search_runs` of the whole experiment are ValueErrors.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet mlflow-skinny==3.17.2
"$folder/venv/bin/python" - <<'PYTHON'
import os
import tempfile

os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
import mlflow  # noqa: E402

with tempfile.TemporaryDirectory() as folder:
    mlflow.set_tracking_uri(f"file:{folder}/runs")
    with mlflow.start_run():
        mlflow.log_metric("loss", 1.0, step=3)
    print("runs found:", len(mlflow.search_runs(output_format="list")))
    with mlflow.start_run() as run:
        mlflow.log_metric("loss", 1.0, step=6 / 2)
    print("accepted: step 3.0")
    for name, call in {"get_run": lambda: mlflow.get_run(run.info.run_id), "search_runs": mlflow.search_runs}.items():
        try:
            call()
        except ValueError as error:
            print(f"{name}: {type(error).__name__}: {error}")
        else:
            raise AssertionError(f"the behaviour has changed: {name} is no error")
PYTHON
