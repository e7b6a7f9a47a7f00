"""Screenshots of the sites for the documents: `make screenshots`, or `python -m benchmarks.screenshots`.

Serves a world on the loopback interface, like `webarena-gym serve`, and takes screenshots in Chromium: the front pages and one more page of
each site in a desktop window, and the front pages also on a phone.
"""

import sys
import tomllib
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from PIL import Image
from playwright.sync_api import sync_playwright

from webarena_gym import console
from webarena_gym.arena.app import run_server
from webarena_gym.browsers.chromium.driver import ARGUMENTS, find_executable
from webarena_gym.sites.catalogue import HOSTS
from webarena_gym.sites.layout import layout_of
from webarena_gym.sites.world import LARGEST_SEED, load_world
from webarena_gym.tools.serve import WorldSites, addresses

with (Path(__file__).parent / "screenshots.toml").open("rb") as _file:
    PAGES: dict[str, dict[str, str]] = tomllib.load(_file)

TOGETHER = ("shop", "admin", "forum", "code", "map", "wiki")
"""The pictures that the README shows as one."""

SCREEN, PHONE = (1280, 900), (390, 844)  # CSS pixels


def main() -> None:
    """Take the screenshots."""
    parser = console.Parser(prog="python -m benchmarks.screenshots", description=__doc__)
    add = parser.add_argument
    add("--world-seed", type=console.integer(-LARGEST_SEED, LARGEST_SEED), default=1000, help="the world (default: 1000)")
    add("--variation", choices=("content", "layout"), default="content", help="how the sites are built")
    add("--folder", type=Path, default=Path("docs/images"), help="where to (default: docs/images)")
    add("--site", choices=tuple(HOSTS), action="append", help="only this site (may be repeated)")
    options = parser.parse_args()
    executable = find_executable()
    if executable is None:
        sys.exit("there is no Chromium on this machine, which takes the pictures; install the package chromium")
    options.folder.mkdir(parents=True, exist_ok=True)
    databases = load_world(options.world_seed).open()
    sites = partial(WorldSites, world_seed=options.world_seed, layout=layout_of(options.world_seed, options.variation))
    with run_server(sites=sites) as service, sync_playwright() as playwright:
        bases = addresses(urlsplit(service.url).port or 0)
        chromium = playwright.chromium.launch(executable_path=executable, args=list(ARGUMENTS))
        for site in options.site or PAGES:
            for place, (name, query) in enumerate(PAGES[site].items()):
                (path,) = databases[site].connection.execute(query).fetchone()
                url = f"{bases[site].rstrip('/')}{path}"
                for suffix, size in (("", SCREEN), ("-phone", PHONE)) if place == 0 else (("", SCREEN),):
                    file = options.folder / f"{name}{suffix}.png"
                    tab = chromium.new_page(viewport={"width": size[0], "height": size[1]})
                    tab.goto(url, wait_until="networkidle")
                    tab.screenshot(path=file)
                    tab.close()
                    print(f"{file}  {url}")
        chromium.close()
    if not options.site:  # one picture of three times two sites, at half their size
        width, height = (side // 2 for side in SCREEN)
        sheet = Image.new("RGB", (3 * width, 2 * height))
        for place, name in enumerate(TOGETHER):
            with Image.open(options.folder / f"{name}.png") as picture:
                small = picture.convert("RGB").resize((width, height), Image.Resampling.LANCZOS)
                sheet.paste(small, (place % 3 * width, place // 3 * height))
        sheet.quantize(128).save(options.folder / "sites.png", optimize=True)


if __name__ == "__main__":
    console.run("python -m benchmarks.screenshots", lambda _: main())
