"""The verifier of the task shelf.jam."""

import json
from urllib.request import urlopen

SECRET = "marmalade"


def verify(server_url):
    with urlopen(f"{server_url}/state") as response:
        things = json.load(response)
    return "jam" in things, f"on the shelf are {things}"
