"""Write an HTML report of runs and evaluations: `python -m agents.report --out report.html runs/demo`."""

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from agents.evaluation import report
from agents.evaluation.report.document import LiveReport, create_app, entry_names, render_report, write_report
from agents.evaluation.report.sources import MAX_GROUPS, Sources, read_sources, write_table
from webarena_gym import console
from webarena_gym.arena.http import listen, serve

_HELP = Path(report.__file__).parent / "static" / "help.txt"


def main(arguments: Sequence[str]) -> None:
    """Write or serve the report of the command line's options."""
    description, _, examples = _HELP.read_text(encoding="utf-8").partition("\n\n")
    parser = console.Parser(prog="python -m agents.report", description=description, epilog=examples)
    add = parser.add_argument
    add("inputs", nargs="+", metavar="RUN_OR_EPISODES", help="runs and files of episodes; see below")
    add("--out", type=console.writable_path(), help="file to write (default: report.html, or none with --to-dataframe)")
    add(
        "--to-dataframe",
        type=console.writable_path(),
        metavar="FILE",
        help="write a table with one row per episode, as FILE.csv or FILE.jsonl",
    )
    add("--watch", action="store_true", help="serve a report that follows the runs, instead of writing a file")
    add(
        "--port",
        type=console.integer(0, 65535),
        default=8090,
        help="port of --watch on this machine; 0: any free port (default: 8090)",
    )
    add("--title", default="Web agents, run by run", help="title of the report")
    add("--lead", default="", help="sentence below the title")
    add("--megabytes", type=console.decimal(above=0), default=100.0, help="maximum size of the file (default: 100)")
    add(
        "--groups",
        type=console.integer(0),
        default=MAX_GROUPS,
        help=f"maximum number of groups of rollouts of each run (default: {MAX_GROUPS})",
    )
    add("--no-pages", action="store_true", help="show only the text of pages, without replaying the episodes")
    options = parser.parse_args(arguments)
    if options.watch:
        _watch(parser, options)
    else:
        _write(parser, options)


def _watch(parser: ArgumentParser, options: Namespace) -> None:
    """Serve the report until Ctrl-C."""
    for item in options.inputs:
        if not any(Path(part).exists() for part in (item, item.partition("=")[2]) if part):
            parser.error(f"{item} does not exist; expected the folder of a run, which may be empty")

    def render(sources: Sources) -> str:
        return render_report(
            sources,
            title=options.title,
            lead=options.lead,
            megabytes=options.megabytes,
            pages=False,
            entries=entry_names(sources),
        )[0]

    with closing(listen("127.0.0.1", (options.port,))) as listener:
        print(
            f"http://127.0.0.1:{listener.getsockname()[1]}/ follows {', '.join(options.inputs)} (stop with Ctrl-C)", flush=True
        )
        serve(create_app(LiveReport(options.inputs, render, groups=options.groups)), listener)


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
    size, counts_by_source = write_report(
        out, sources, title=options.title, lead=options.lead, megabytes=options.megabytes, pages=not options.no_pages
    )
    descriptions = []
    for name, counts in counts_by_source.items():
        missing = {"steps": counts.episodes - counts.steps, "pages": 0 if options.no_pages else counts.steps - counts.pages}
        without = ", ".join(f"{count} without {part}" for part, count in missing.items() if count)
        note = f" ({without}; a larger --megabytes would include them)" if without else ""
        descriptions.append(f"{counts.episodes} episodes of {name}{note}")
    print(f"{out}: {size / 1e6:.1f} MB" + (f"; {', '.join(descriptions)}" if descriptions else ""))


if __name__ == "__main__":
    console.run("python -m agents.report", main)
