"""`webarena-gym app pack`, `verify` and `matrix`: hand applications over, and report on several of them."""

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from webarena_gym.applications.application import read_application
from webarena_gym.applications.archive import FILE, SUFFIX, install, pack, unpack, verified_folder
from webarena_gym.applications.trust import add_trust, expect_trusted_archive, grants_of
from webarena_gym.console import writable_path
from webarena_gym.errors import ApplicationError, WebArenaGymError
from webarena_gym.sites.world import cache_folder
from webarena_gym.tools.application_check import SOLVED, UNPROVEN, Certificate, examine

_COMPARED = ("pages", "statuses", "controls", "tasks")  # of reports that must be equal elsewhere


def add_pack_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `app pack`."""
    command.add_argument(
        "-o",
        "--out",
        type=writable_path("file"),
        metavar="ARCHIVE",
        help=f"the archive, a file whose name ends with {SUFFIX} (default: NAME{SUFFIX}, in the current folder)",
    )
    command.add_argument(
        "--licence",
        required=True,
        metavar="TEXT",
        help="licence of the application and its data, such as MIT or GPL-2.0-or-later",
    )
    command.add_argument("--version", default="1", metavar="TEXT", help="version of the archive (default: 1)")


def pack_application(options: argparse.Namespace) -> int:
    """Check an application, and pack it if there are no problems."""
    if options.application.name.endswith(SUFFIX):
        raise ApplicationError(f"{options.application} is an archive; expected the {FILE} of an application, or its folder")
    if options.out and not options.out.name.endswith(SUFFIX):
        raise ApplicationError(f"the archive is {str(options.out)!r}; expected a name that ends with {SUFFIX}")
    application = read_application(options.application)
    file = options.application / FILE if options.application.is_dir() else options.application
    certificate = examine(application, options.browser, options.resets)
    if certificate.problems:
        print("\n".join(["problems:", *certificate.problems]))
        print(f"{application.name} is not packed, because it has problems")
        return 1
    out = options.out or Path(f"{application.name}{SUFFIX}")
    reports = {str(browser): report for browser, report in certificate.reports.items()}
    manifest, excluded = pack(application, file, out, version=options.version, licence=options.licence, check=reports)
    if certificate.unchecked:
        print(certificate.unchecked)
    print(f"wrote {out}: {len(manifest.files)} files, {out.stat().st_size / 1e3:,.0f} kB, {_tasks(certificate)}")
    if excluded:
        names = ", ".join([*excluded[:10], *["..."] * (len(excluded) > 10)])
        print(f"exclude omits {len(excluded)} path{'s' * (len(excluded) != 1)}: {names}")
    return 0


def add_archive_options(command: argparse.ArgumentParser, *, can_trust: bool) -> None:
    """Add the options of `app verify` and `app unpack`; only the first has `--trust`."""
    if can_trust:
        command.add_argument(
            "--trust",
            action="store_true",
            help="allow this application what its settings permit outside of the isolation: its own interpreter, network connections, values of "
            "your environment variables, or folders outside of the archive. The decision is stored, and holds for this content of the archive. "
            "Without it, the command lists these settings and stops",
        )
    command.add_argument("archive", type=Path, metavar="ARCHIVE", help="an archive of app pack")
    command.add_argument(
        "--install", action="store_true",
        help="create the virtual environment of the application and install its packages, from the index that pip uses",
    )  # fmt: skip


def unpack_archive(options: argparse.Namespace) -> int:
    """Unpack an archive, and install the packages of its application if asked to."""
    manifest = unpack(options.archive, options.folder)
    if options.install:
        install(options.folder, print)
    print(f"wrote {manifest.name} {manifest.version} ({manifest.licence}) to {options.folder}: {len(manifest.files)} files")
    return 0


def verify_archive(options: argparse.Namespace) -> int:
    """Unpack an archive into the cache, check the application there, and compare with the report in the archive. Return 1 for a difference."""
    folder, manifest = verified_folder(options.archive, cache_folder())  # where envs and `evaluate` find what is installed
    print(
        f"{manifest.name} {manifest.version} ({manifest.licence}): {len(manifest.files)} files have their digests", flush=True
    )
    application = read_application(folder)
    if options.trust:
        add_trust(options.archive.read_bytes(), grants_of(application, folder))
    expect_trusted_archive(options.archive, application, folder, installs=options.install)
    if options.install:
        install(folder, print)
    certificate = examine(application, options.browser, options.resets)
    differences = [
        f"{browser}: {key} are {now[key]!r}; expected {then[key]!r}"
        for browser, now in certificate.reports.items()
        if (then := manifest.check.get(browser))
        for key in _COMPARED
        if now[key] != then[key]
    ]
    faults = [*certificate.problems, *differences]
    if missing := [browser for browser in manifest.check if browser not in certificate.reports]:
        print(f"not compared, because it is not checked here: {', '.join(missing)}")
    print("\n".join(["problems:", *faults]) if faults else f"equal to its report: {_tasks(certificate)}")
    return 1 if faults else 0


def add_matrix_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `app matrix`."""
    command.add_argument(
        "applications", type=Path, nargs="+", metavar="APPLICATION", help=f"a {FILE}, its folder, or an archive"
    )
    command.add_argument("--json", action="store_true", help="print one JSON object instead of a table")


def report_matrix(options: argparse.Namespace) -> int:
    """Check several applications, and print one table. Return 1 if one has problems."""
    rows: list[dict[str, Any]] = []
    for path in options.applications:
        try:
            application = read_application(path)
            rows.append(_row(application.name, examine(application, options.browser, options.resets)))
        except WebArenaGymError as error:
            rows.append({"application": str(path), "problems": [str(error)]})
    if options.json:
        print(json.dumps({"applications": rows}))
    else:
        print(_table(rows))
    return 1 if any(row["problems"] for row in rows) else 0


def _row(name: str, certificate: Certificate) -> dict[str, Any]:
    """Return the row of an application: the longest start, and the times of a reset and a page in each browser."""
    reports = certificate.reports.values()
    results = [result for report in reports for result in report["tasks"].values()]
    return {
        "application": name,
        "browsers": list(certificate.reports),
        "tasks": max((len(report["tasks"]) for report in reports), default=0),
        "solved": sum(result == SOLVED for result in results) / len(results) if results else None,
        "pages": max(report["pages"] for report in reports),
        "start_s": max(report["first_start_s"] for report in reports),
        "reset_ms": {browser: report["reset_ms"] for browser, report in certificate.reports.items()},
        "step_ms": {browser: report["step_ms"] for browser, report in certificate.reports.items()},
        "problems": certificate.problems,
    }


def _table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the rows as a Markdown table, followed by the problems."""
    lines = ["| application | tasks | solved | pages | start | reset | step | problems |", "|---|---|---|---|---|---|---|---|"]
    for row in rows:
        if "tasks" not in row:
            lines.append(f"| {row['application']} | | | | | | | {len(row['problems'])} |")
            continue
        costs = (" / ".join(f"{value:.1f}" for value in row[key].values()) + " ms" for key in ("reset_ms", "step_ms"))
        solved = "" if row["solved"] is None else f"{row['solved']:.0%}"
        cells = row["application"], row["tasks"], solved, row["pages"], f"{row['start_s']} s", *costs, len(row["problems"])
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join([*lines, *(f"{row['application']}: {problem}" for row in rows for problem in row["problems"])])


def _tasks(certificate: Certificate) -> str:
    """Return how many tasks of an application are solved, and how many have no solution, as text."""
    results = max((list(report["tasks"].values()) for report in certificate.reports.values()), key=len, default=[])
    unproven = results.count(UNPROVEN)
    count = len(results) - unproven
    solved = f"{count} task{'s' * (count != 1)} solved in {' and '.join(certificate.reports)}"
    return f"{solved}, {unproven} without a solution" if unproven else solved
