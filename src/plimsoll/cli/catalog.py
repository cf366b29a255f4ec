"""`plimsoll catalog`: show the documented limits of a class, and refresh the tables of limits."""

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec import Struct

from plimsoll.app.moments import epoch_of
from plimsoll.app.options import Option
from plimsoll.cli.option_groups import expand
from plimsoll.errors import UsageError
from plimsoll.units import format_time

if TYPE_CHECKING:  # the other commands need neither
    from plimsoll.catalog.load import Catalog
    from plimsoll.catalog.refresh import Refresh

# A judgement: a list prints this many names, and counts the rest.
_NAMED_MAX = 20


def register(app: typer.Typer) -> None:
    """Add the command group to the application."""
    group = typer.Typer(
        help="Show the documented limits, or compare them with an answer of AWS.",
        no_args_is_help=True,
        rich_markup_mode=None,
    )
    group.command("show")(expand(show))
    group.command("refresh")(expand(refresh))
    app.add_typer(group, name="catalog")


class ShowOptions(Struct, frozen=True, kw_only=True):
    """The options of `catalog show`."""

    db_class: Annotated[str | None, Option("[CLASS]")] = None
    """Instance class, for example db.r5.2xlarge (default: list all)."""


class RefreshOptions(Struct, frozen=True, kw_only=True):
    """The options of `catalog refresh`."""

    answer: Annotated[str, Option("--from FILE")]
    """Answer of 'aws ec2 describe-instance-types'; '-' is standard input."""
    write: Annotated[Path | None, Option("--write DIR")] = None
    """Write the new tables to this folder."""
    read_on: Annotated[str | None, Option("--read-on DATE")] = None
    """Date of the answer (default: today)."""
    family: Annotated[tuple[str, ...], Option("--family NAME")] = ()
    """Add this EC2 family, even if no list says that RDS uses it. Repeatable."""


def show(options: ShowOptions) -> None:
    """List the classes, or print the documented limits of one class, legacy limits included."""
    from plimsoll.catalog.load import catalog

    facts = catalog()
    lines = _class_lines(facts, options.db_class) if options.db_class else facts.classes()
    sys.stdout.write("".join(f"{line}\n" for line in lines))


def refresh(options: RefreshOptions) -> int:
    """
    Compare the catalog with an answer of 'aws ec2 describe-instance-types'.

    Exit status: 0 both agree or the tables were written, 1 they differ, 2 bad input.
    """
    from plimsoll.catalog.load import catalog
    from plimsoll.catalog.refresh import refreshed

    moment = epoch_of(options.read_on) if options.read_on else int(datetime.now(UTC).timestamp())
    result = refreshed(_read(options.answer), catalog(), read_on=format_time(moment)[:10], families=options.family)
    sys.stdout.write("".join(f"{line}\n" for line in _difference_lines(result)))
    if options.write is not None:
        _write(options.write, result)
        return 0
    return 1 if result.added or result.changed else 0


def _read(answer: str) -> str:
    try:
        raw = sys.stdin.buffer.read() if answer == "-" else Path(answer).read_bytes()
        return raw.decode()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise UsageError(
            f"unable to read '{answer}': {str(reason).lower()}",
            "Save the answer with 'aws ec2 describe-instance-types > types.json'.",
        ) from error


def _write(folder: Path, result: "Refresh") -> None:
    from plimsoll.catalog import schema
    from plimsoll.catalog.load import catalog
    from plimsoll.reports.files.file import write_aside

    sources = {source.id: source for source in catalog().rows(schema.SOURCES)}
    legacy, limits = schema.render(result.legacy), schema.render(result.limits)
    # Parse both tables before writing either, so that no table is written that would not load. The
    # legacy table goes first: if the second write fails, no number has been lost.
    schema.parse(schema.INSTANCE_LIMITS_LEGACY, legacy, sources)
    schema.parse(schema.INSTANCE_LIMITS, limits, sources)
    for file, text in ((schema.INSTANCE_LIMITS_LEGACY.file, legacy), (schema.INSTANCE_LIMITS.file, limits)):
        write_aside(folder / file, text.encode())
        typer.echo(f"table written to {folder / file}", err=True)


def _difference_lines(result: "Refresh") -> list[str]:
    lines = [f"{result.read_count} types in the answer"]
    if result.ignored_count:
        lines.append(f"{result.ignored_count} of them are not known to serve RDS, left out")
    lines += [
        f"changed: {change.db_class} {change.column}: {change.was or 'unknown'} -> {change.now or 'unknown'}"
        for change in result.changed
    ]
    lines += [f"added: {name}" for name in result.added]
    if result.not_answered:
        names = ", ".join(result.not_answered[:_NAMED_MAX])
        more = len(result.not_answered) - _NAMED_MAX
        lines.append(f"not in the answer, kept: {names}" + (f" and {more} more" if more > 0 else ""))
    if not (result.added or result.changed):
        lines.append("the catalog agrees with the answer")
    return lines


def _class_lines(facts: "Catalog", db_class: str) -> list[str]:
    from plimsoll.limits import ceilings_of
    from plimsoll.model.instance import Instance
    from plimsoll.reports.render.words import ceiling_name, ceiling_value

    limits = facts.instance_limits(db_class)
    offered = ", ".join(facts.regions_of(limits.db_class)) or "unknown"
    host = (limits.ec2_type or "unknown", limits.hypervisor or "unknown", limits.cpu_arch or "")
    lines = [limits.db_class, f"  EC2 type: {', '.join(part for part in host if part)}"]
    lines += [f"  offered for: {offered}", *([f"  note: {limits.note}"] if limits.note else ())]
    for ceiling in ceilings_of(Instance(db_class=limits.db_class), facts):
        origin = ceiling.origin
        valid = f", documented {origin.valid_from} to {origin.valid_to}" if origin.valid_from else ""
        dated = f"{origin.source} ({origin.read_on})" if origin.read_on else origin.source
        lines.append(f"  {ceiling_name(ceiling)}: {ceiling_value(ceiling)}{valid}; {dated}")
    return lines
