"""`plimsoll lint`: find mistakes in a configuration file."""

import re
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec import Struct

from plimsoll.app.options import Option, ReadOptions
from plimsoll.cli.option_groups import OptionGroup, expand
from plimsoll.cli.options import READ
from plimsoll.cli.output import WIDTH_OF_PAIRS, FindingsOutput, Output, output_options
from plimsoll.cli.progress import TERMINAL
from plimsoll.errors import UsageError

if TYPE_CHECKING:  # the command line comes up without what it needs
    from plimsoll.model.infrastructure import InfrastructureTool


class PoolerName(StrEnum):
    """Poolers whose configuration can be checked."""

    PGPOOL = "pgpool"
    PGBOUNCER = "pgbouncer"


class FailOn(StrEnum):
    """The least severity for exit status 1."""

    CRITICAL = "critical"
    WARNING = "warning"
    NOTE = "note"


class PoolerOptions(Struct, frozen=True, kw_only=True):
    """The options of `lint pooler`."""

    config: Annotated[Path, Option("FILE")]
    """Configuration: pgpool.conf or pgbouncer.ini."""
    version: Annotated[str | None, Option("--version VERSION")] = None
    """Version of the pooler, for example 4.1.3."""
    max_connections: Annotated[int | None, Option("--max-connections N", min=1)] = None
    """max_connections of the server behind the pooler."""
    reserved: Annotated[int, Option("--reserved N", min=0)] = 3
    """Number of these connections that are reserved for superusers."""
    kind: Annotated[PoolerName | None, Option("--kind NAME")] = None
    """The pooler, pgpool or pgbouncer (default: by the settings in the file)."""
    output: Annotated[Output, output_options(WIDTH_OF_PAIRS)]


class FilesOptions(Struct, frozen=True, kw_only=True):
    """The options of files that declare databases."""

    history: Annotated[tuple[str, ...], Option("--history TARGET")] = ()
    """
    Also check the class against the load of the past: rds:NAME, a recorded snapshot, or a file or folder of exported
    metrics. With several databases: ADDRESS=TARGET. Repeatable.
    """
    fail_on: Annotated[FailOn, Option("--fail-on SEVERITY")] = FailOn.WARNING
    """Least severity that gives exit status 1: critical, warning or note."""
    # The window and the account are those of a history; the region is that of the databases, too.
    read: Annotated[ReadOptions, READ.only("last", "since", "until", "profile", "region", "role_arn")]
    output: Annotated[FindingsOutput, OptionGroup(FindingsOutput).without("is_brief")]


class TerraformOptions(Struct, frozen=True, kw_only=True):
    """The options of `lint terraform`."""

    plans: Annotated[tuple[Path, ...], Option("PLAN...")]
    """
    Plan in JSON, as 'terraform show -json' or 'tofu show -json' writes it; - reads standard input.
    """
    how: FilesOptions


class TemplateOptions(Struct, frozen=True, kw_only=True):
    """The options of `lint cloudformation`."""

    templates: Annotated[tuple[Path, ...], Option("TEMPLATE...")]
    """Template in YAML or JSON; - reads standard input."""
    parameter: Annotated[tuple[str, ...], Option("--parameter NAME=VALUE")] = ()
    """Value of a parameter (default: the parameter's default). Repeatable."""
    how: FilesOptions


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    group = typer.Typer(
        help="Find mistakes in a configuration file.",
        no_args_is_help=True,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    group.callback()(_group)
    for name, command in (("pooler", pooler), ("terraform", terraform), ("cloudformation", cloudformation)):
        group.command(name)(expand(command))
    app.add_typer(group, name="lint")


def _group() -> None:
    """Find mistakes in a configuration file."""


def pooler(options: PoolerOptions) -> int:
    """
    Check the settings of PgBouncer or Pgpool-II against the known faults of their releases.

    Exit status: 0 nothing above a note, 1 a warning or worse, 2 bad input.
    """
    from plimsoll.catalog.load import catalog
    from plimsoll.lint.pooler import ServerRoom, lint, unknown_of
    from plimsoll.model.lint import PoolerFindings
    from plimsoll.sources.pooler.config import read_pooler_config

    version = options.version
    if version is not None and not re.fullmatch(r"\d{1,4}(\.\d{1,4}){1,3}", version):
        raise UsageError(f"--version '{version}' is not a version number", "Write it as 4.1.3 or 1.21.0.")
    found = read_pooler_config(options.config, kind=options.kind, version=version)
    room = ServerRoom(connection_max=options.max_connections, reserved=options.reserved)
    findings = PoolerFindings(config=found, causes=lint(found, catalog(), room), notes=unknown_of(found, room))
    options.output.write(findings)
    return 1 if any(c.severity != "note" for c in findings.causes) else 0


def terraform(options: TerraformOptions) -> int:
    """
    Check the databases of a Terraform plan against the limits of their class and storage.

    Exit status: 0 nothing at or above --fail-on, 1 a finding, 2 bad input.
    """
    return _checked("terraform", options.plans, options.how)


def cloudformation(options: TemplateOptions) -> int:
    """
    Check the databases of a CloudFormation template against the limits of their class and storage.

    Exit status: 0 nothing at or above --fail-on, 1 a finding, 2 bad input.
    """
    return _checked("cloudformation", options.templates, options.how, _parameters(options.parameter))


def _checked(
    tool: "InfrastructureTool", files: Sequence[Path], how: FilesOptions, parameters: dict[str, str] | None = None
) -> int:
    """Check files, print the findings, and return the exit status."""
    from plimsoll.app.infrastructure import check_files
    from plimsoll.model.severity import SEVERITIES

    found = check_files(
        tool, files, parameters=parameters, histories=how.history, read_options=how.read, progress=TERMINAL
    )
    how.output.write(found)
    failing = SEVERITIES[: SEVERITIES.index(how.fail_on.value) + 1]
    return 1 if any(one.severity in failing for one in found.findings) else 0


def _parameters(texts: Sequence[str]) -> dict[str, str]:
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise UsageError(f"--parameter '{text}' is not NAME=VALUE", "Write it as InstanceClass=db.r6g.large.")
        found[name] = value
    return found
