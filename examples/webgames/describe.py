"""Write the file of a suite with the tasks of WebGames, from a clone of its repository whose pages were built: describe.py CLONE FILE."""

import json
import sys
from pathlib import Path
from typing import Any

TASKS = "evals/browseruse_webgames/webgames_tasks.jsonl"
PAGES = "webgames"
COMMAND = "node node_modules/vite/bin/vite.js preview --configLoader runner --host 127.0.0.1 --port {port} --strictPort"
ALLOWED = "__VITE_ADDITIONAL_SERVER_ALLOWED_HOSTS"
SHOWN = "#root"  # of a page; the file of the script has the passwords of all games
INTENT = "{description}. The page then shows a password. Exit with this password."


def describe(clone: Path) -> dict[str, Any]:
    """Return the record of the suite. Its splits are the variants of the games: "base", "easy" and "hard"."""
    games = [json.loads(line) for line in (clone / TASKS).read_text(encoding="utf-8").splitlines()]
    return {
        "name": "webgames",
        "licence": "Apache-2.0",
        "source": "https://github.com/convergence-ai/webgames",
        "folder": str(clone.resolve()),
        "solutions": str(Path(__file__).resolve().with_name("solutions.jsonl")),
        "applications": {
            "webgames": {"folder": PAGES, "command": COMMAND, "environment": {ALLOWED: "webgames.test"}, "virtual_time": True}
        },
        "tasks": [
            {
                "task_id": f"webgames.{game['id'].removesuffix('/*')}",
                "splits": [next((variant for variant in ("easy", "hard") if variant in game["tags"]), "base")],
                "sites": ["webgames"],
                "start_url": f"__WEBGAMES__/{game['path'].removesuffix('*')}",
                "intent": INTENT.format(description=game["description"].rstrip(".!")),
                "require_login": False,
                "eval": {
                    "eval_types": ["string_match", "program_html"],
                    "reference_answers": {"must_include": [game["password"]]},
                    "program_html": [
                        {"url": "last", "locator": SHOWN, "required_contents": {"must_include": [game["password"]]}}
                    ],
                },
            }
            for game in games
        ],
    }


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(json.dumps(describe(Path(sys.argv[1])), indent=1, ensure_ascii=False), encoding="utf-8")
