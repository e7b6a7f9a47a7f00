"""The verifier of the task board.card."""

import json
from urllib.request import urlopen


def verify(server_url):
    with urlopen(f"{server_url}/api/state") as response:
        titles = [card["title"] for card in json.load(response)["cards"]]
    return "Call Ann" in titles, f"on the board are {titles}"
