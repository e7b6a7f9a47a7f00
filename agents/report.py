"""Write one HTML file about runs and evaluations: `python -m agents.report --out report.html runs/demo`."""

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from agents.evaluation import report
from agents.evaluation.report.document import Watched, create_app, held, render_report, write_report
from agents.evaluation.report.sources import MOST_GROUPS, Sources, read_sources, write_table
from webarena_gym import console
from webarena_gym.server.http import listen, serve

_HELP = Path(report.__file__).parent / "static" / "help.txt"


def main(arguments: Sequence[str]) -> None:
    """Write the report that the command line asks for."""
    description, _, examples = _HELP.read_text(encoding="utf-8").partition("\n\n")
    parser = console.Parser(prog="python -m agents.report", description=description, epilog=examples)
    add = parser.add_argument
    add("inputs", nargs="+", metavar="RUN_OR_EPISODES", help="what to show; see below")
    add("--out", type=console.writable_path(), help="the file to write (default: report.html, or none with --to-dataframe)")
    add(
        "--to-dataframe",
        type=console.writable_path(),
        metavar="FILE",
        help="write a table of the episodes, a row each, as FILE.csv or FILE.jsonl",
    )
    add("--watch", action="store_true", help="follow runs in the browser, instead of writing a file")
    add(
        "--port",
        type=console.integer(0, 65535),
        default=8090,
        help="of --watch, on this machine; 0: a free one (default: 8090)",
    )
    add("--title", default="Web agents, run by run", help="what stands at the top")
    add("--lead", default="", help="a sentence below the title")
    add("--megabytes", type=console.decimal(above=0), default=100.0, help="the file's greatest size (default: 100)")
    add(
        "--groups",
        type=console.integer(0),
        default=MOST_GROUPS,
        help=f"of each run, so many groups of rollouts (default: {MOST_GROUPS})",
    )
    add("--no-pages", action="store_true", help="show the text of pages alone, without playing episodes again")
    options = parser.parse_args(arguments)
    if options.watch:
        _watch(parser, options)
    else:
        _write(parser, options)


def _watch(parser: ArgumentParser, options: Namespace) -> None:
    """Serve the report until Ctrl-C."""
    for item in options.inputs:
        if not any(Path(part).exists() for part in (item, item.partition("=")[2]) if part):
            parser.error(f"{item} is not there; expected the folder of a run, which may be empty yet")

    def render(sources: Sources) -> str:
        return render_report(
            sources, title=options.title, lead=options.lead, megabytes=options.megabytes, pages=False, watched=held(sources)
        )[0]

    with closing(listen("127.0.0.1", (options.port,))) as listener:
        print(f"http://127.0.0.1:{listener.getsockname()[1]}/ follows {', '.join(options.inputs)} (Ctrl-C ends it)", flush=True)
        serve(create_app(Watched(options.inputs, render, groups=options.groups)), listener)


def _write(parser: ArgumentParser, options: Namespace) -> None:
    try:
        sources = read_sources(options.inputs, groups=options.groups)
    except ValueError as error:
        parser.error(str(error))
    if options.to_dataframe:
        try:
            count = write_table(options.to_dataframe, sources.policies)
        except ValueError as error:
            parser.error(str(error))
        print(f"{options.to_dataframe}: {count} episodes")
        if not options.out:
            return
    out = options.out or Path("report.html")
    size, shown = write_report(
        out, sources, title=options.title, lead=options.lead, megabytes=options.megabytes, pages=not options.no_pages
    )
    told = []
    for name, own in shown.items():
        left = {"steps": own.episodes - own.steps, "pages": 0 if options.no_pages else own.steps - own.pages}
        without = ", ".join(f"{count} without {what}" for what, count in left.items() if count)
        told.append(f"{own.episodes} episodes of {name}" + (f" ({without}: give more --megabytes)" if without else ""))
    print(f"{out}: {size / 1e6:.1f} MB" + (f"; {', '.join(told)}" if told else ""))


if __name__ == "__main__":
    console.run("python -m agents.report", main)
