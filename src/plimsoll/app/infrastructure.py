"""Check the databases that Terraform plans and CloudFormation templates declare."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from plimsoll.app.options import InstanceOptions, ReadOptions
from plimsoll.app.progress import SILENT, Progress
from plimsoll.errors import UsageError
from plimsoll.model.infrastructure import STANDARD_INPUT, DeclaredDatabase, InfrastructureFindings, InfrastructureTool
from plimsoll.model.snapshot import Snapshot


def check_files(
    tool: InfrastructureTool,
    files: Sequence[Path],
    *,
    parameters: Mapping[str, str] | None = None,
    histories: Sequence[str] = (),
    read_options: ReadOptions | None = None,
    progress: Progress = SILENT,
) -> InfrastructureFindings:
    """
    Return the findings on the databases of files.

    Args:
        tool: whose files they are.
        files: plans in JSON, or templates; `-` is standard input.
        parameters: of templates, in place of their defaults.
        histories: metrics of the databases: `TARGET`, or `ADDRESS=TARGET` if there are several.
        read_options: window of the histories, access to them, and the region of the databases.
        progress: shown while a history is read.

    Raises:
        UsageError: a history or a parameter does not fit.
        SourceError: a file or a history cannot be read.
        DataError: a file is not what it should be.
    """
    from plimsoll.catalog.load import catalog
    from plimsoll.lint.infrastructure.check import RULES, check_databases

    read_options = read_options or ReadOptions()
    region = read_options.region
    if region is not None and region not in catalog().price_regions():
        known = ", ".join(catalog().price_regions()[:3])
        raise UsageError(f"there is no region '{region}' in the price lists", f"Use a region such as {known}.")
    found: list[DeclaredDatabase] = []
    notes: list[str] = []
    for file in files:
        databases, more = _read(tool, file, region, parameters)
        found += databases
        notes += more
    past = _histories(tuple(found), histories, read_options, progress)
    findings, unchecked = check_databases(tuple(found), catalog(), past)
    if not found:
        notes.append("no database is declared")
    return InfrastructureFindings(
        tool=tool,
        files=tuple(STANDARD_INPUT if str(file) == "-" else str(file) for file in files),
        databases=tuple(found),
        findings=findings,
        rules=RULES,
        notes=(*notes, *unchecked),
    )


def _read(
    tool: InfrastructureTool, file: Path, region: str | None, parameters: Mapping[str, str] | None
) -> tuple[tuple[DeclaredDatabase, ...], tuple[str, ...]]:
    if tool == "terraform":
        from plimsoll.sources.infrastructure.terraform import read_terraform

        return read_terraform(file, region=region)
    from plimsoll.sources.infrastructure.cloudformation import read_cloudformation

    return read_cloudformation(file, region=region, parameters=parameters)


def _histories(
    databases: tuple[DeclaredDatabase, ...], given: Sequence[str], read_options: ReadOptions, progress: Progress
) -> dict[str, Snapshot]:
    """Return the metrics by the address of their database."""
    from plimsoll.app.read import read_target

    addresses = tuple(database.address for database in databases)
    chosen: dict[str, Snapshot] = {}
    for text in given:
        address, _, rest = text.partition("=")
        if rest and address in addresses:
            chosen[address] = read_target(rest, InstanceOptions(), read_options, progress)
            continue
        snapshot = read_target(text, InstanceOptions(), read_options, progress)
        chosen[_owner(databases, snapshot, text)] = snapshot
    return chosen


def _owner(databases: tuple[DeclaredDatabase, ...], snapshot: Snapshot, text: str) -> str:
    """
    Return the address of the database that a snapshot is of.

    Raises:
        UsageError: it is not clear.
    """
    named = [d for d in databases if d.after.instance.identifier == snapshot.instance.identifier]
    candidates = named if len(named) == 1 else databases
    if len(candidates) == 1:
        return candidates[0].address
    if not candidates:
        raise UsageError(f"--history {text} belongs to no database: none is declared", "Leave out --history.")
    raise UsageError(
        f"--history {text} can be of {len(candidates)} databases",
        f"Name one: --history '{candidates[0].address}={text}'.",
    )
