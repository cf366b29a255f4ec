"""`plimsoll lint`: find mistakes in a configuration file."""

import re
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from plimsoll.app.options import ReadOptions
from plimsoll.cli.option_groups import expand
from plimsoll.cli.options import READ
from plimsoll.cli.output import WIDTH_OF_PAIRS, Output, findings_output_options, output_options
from plimsoll.cli.waiting import TERMINAL
from plimsoll.errors import UsageError

if TYPE_CHECKING:  # the command line comes up without what it needs
    from plimsoll.model.infrastructure import DeclaredFinding


class PoolerName(StrEnum):
    """Poolers whose configuration can be checked."""

    PGPOOL = "pgpool"
    PGBOUNCER = "pgbouncer"


class FailOn(StrEnum):
    """The least severity for exit status 1."""

    CRITICAL = "critical"
    WARNING = "warning"
    NOTE = "note"


_History = Annotated[
    list[str] | None,
    typer.Option(
        "--history",
        metavar="TARGET",
        help="Also check the class against the load of the past: rds:NAME, a recorded snapshot, or a file or "
        "folder of exported metrics. With several databases: ADDRESS=TARGET. Repeatable.",
    ),
]
_FailOn = Annotated[
    FailOn,
    typer.Option(
        "--fail-on", metavar="SEVERITY", help="Least severity that gives exit status 1: critical, warning or note."
    ),
]
# The window and the account are those of a history; the region is that of the databases, too.
_READ = READ.only("last", "since", "until", "profile", "region", "role_arn")


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    group = typer.Typer(
        help="Find mistakes in a configuration file.",
        no_args_is_help=True,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    group.callback()(_group)
    group.command("pooler")(expand(pooler, output=output_options(WIDTH_OF_PAIRS)))
    files = {"read_options": _READ, "output": findings_output_options()}
    group.command("terraform")(expand(terraform, **files))
    group.command("cloudformation")(expand(cloudformation, **files))
    app.add_typer(group, name="lint")


def _group() -> None:
    """Find mistakes in a configuration file."""


def pooler(
    config: Annotated[Path, typer.Argument(metavar="FILE", help="Configuration: pgpool.conf or pgbouncer.ini.")],
    *,
    output: Output,
    version: Annotated[
        str | None, typer.Option("--version", metavar="VERSION", help="Version of the pooler, for example 4.1.3.")
    ] = None,
    max_connections: Annotated[
        int | None,
        typer.Option("--max-connections", metavar="N", min=1, help="max_connections of the server behind the pooler."),
    ] = None,
    reserved: Annotated[
        int,
        typer.Option(
            "--reserved", metavar="N", min=0, help="Number of these connections that are reserved for superusers."
        ),
    ] = 3,
    kind: Annotated[
        PoolerName | None,
        typer.Option(
            "--kind", metavar="NAME", help="The pooler, pgpool or pgbouncer (default: by the settings in the file)."
        ),
    ] = None,
) -> None:
    """
    Check the settings of PgBouncer or Pgpool-II against the known faults of their releases.

    Exit status: 0 nothing above a note, 1 a warning or worse, 2 bad input.
    """
    from plimsoll.catalog.load import catalog
    from plimsoll.lint.pooler import ServerRoom, lint, unknown_of
    from plimsoll.model.lint import PoolerFindings
    from plimsoll.sources.pooler.config import read_pooler_config

    if version is not None and not re.fullmatch(r"\d{1,4}(\.\d{1,4}){1,3}", version):
        raise UsageError(f"--version '{version}' is not a version number", "Write it as 4.1.3 or 1.21.0.")
    found = read_pooler_config(config, kind=kind, version=version)
    room = ServerRoom(connection_max=max_connections, reserved=reserved)
    findings = PoolerFindings(config=found, causes=lint(found, catalog(), room), notes=unknown_of(found, room))
    output.write(findings)
    raise typer.Exit(1 if any(c.severity != "note" for c in findings.causes) else 0)


def terraform(
    plans: Annotated[
        list[Path],
        typer.Argument(
            metavar="PLAN...",
            help="Plan in JSON, as 'terraform show -json' or 'tofu show -json' writes it; - reads standard input.",
        ),
    ],
    *,
    read_options: ReadOptions,
    output: Output,
    history: _History = None,
    fail_on: _FailOn = FailOn.WARNING,
) -> None:
    """
    Check the databases of a Terraform plan against the limits of their class and storage.

    Exit status: 0 nothing at or above --fail-on, 1 a finding, 2 bad input.
    """
    from plimsoll.app.infrastructure import check_files

    found = check_files("terraform", plans, histories=history or (), read_options=read_options, progress=TERMINAL)
    output.write(found)
    raise typer.Exit(_status(found.findings, fail_on))


def cloudformation(
    templates: Annotated[
        list[Path], typer.Argument(metavar="TEMPLATE...", help="Template in YAML or JSON; - reads standard input.")
    ],
    *,
    read_options: ReadOptions,
    output: Output,
    parameter: Annotated[
        list[str] | None,
        typer.Option(
            "--parameter",
            metavar="NAME=VALUE",
            help="Value of a parameter (default: the parameter's default). Repeatable.",
        ),
    ] = None,
    history: _History = None,
    fail_on: _FailOn = FailOn.WARNING,
) -> None:
    """
    Check the databases of a CloudFormation template against the limits of their class and storage.

    Exit status: 0 nothing at or above --fail-on, 1 a finding, 2 bad input.
    """
    from plimsoll.app.infrastructure import check_files

    found = check_files(
        "cloudformation",
        templates,
        parameters=_parameters(parameter or []),
        histories=history or (),
        read_options=read_options,
        progress=TERMINAL,
    )
    output.write(found)
    raise typer.Exit(_status(found.findings, fail_on))


def _parameters(texts: list[str]) -> dict[str, str]:
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise UsageError(f"--parameter '{text}' is not NAME=VALUE", "Write it as InstanceClass=db.r6g.large.")
        found[name] = value
    return found


def _status(findings: Sequence["DeclaredFinding"], fail_on: FailOn) -> int:
    from plimsoll.model.severity import SEVERITIES

    failing = SEVERITIES[: SEVERITIES.index(fail_on.value) + 1]
    return 1 if any(one.severity in failing for one in findings) else 0
