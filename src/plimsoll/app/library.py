"""
The functions of `import plimsoll`: read, diagnose, inspect, make_plan, compare, render, write.

Nothing here prints, asks for a key or handles a signal.
"""

from collections.abc import Sequence
from pathlib import Path

from plimsoll import __version__
from plimsoll.app.compare import compare_snapshots
from plimsoll.app.diagnose import diagnose_snapshot, read_with_statements
from plimsoll.app.inspect import NO_CEILING, inspect_for_diagnosis, inspect_observation, observe
from plimsoll.app.moments import now_s
from plimsoll.app.options import InstanceOptions, ReadOptions
from plimsoll.app.plan import plan_snapshot
from plimsoll.app.render import Form, Found, Report, render
from plimsoll.errors import UsageError
from plimsoll.model.cause import Inspection
from plimsoll.model.comparison import Comparison
from plimsoll.model.diagnosis import Diagnosis
from plimsoll.model.plan import Plan, PlanConstraints
from plimsoll.model.snapshot import Snapshot

__all__ = [
    "InstanceOptions",
    "PlanConstraints",
    "ReadOptions",
    "Report",
    "compare",
    "diagnose",
    "inspect",
    "make_plan",
    "read",
    "render",
    "write",
]

_FORMS: dict[str, Form] = {".txt": "text", ".json": "json", ".md": "markdown", ".html": "html"}


def read(
    target: str | Path, *, instance: InstanceOptions | None = None, options: ReadOptions | None = None
) -> Snapshot:
    """
    Read a target's metrics, in SI units; what is missing is listed as gaps.

    Args:
        target: `rds:NAME`, `prom:URL`, a recorded snapshot, or a file or folder of exported metrics.
        instance: class, storage and so on; a field given here replaces what the source says.
        options: window and access; a live target is read for the last day by default.

    Raises:
        UsageError: the target does not exist, or an option is not valid.
        SourceError: the source refuses, or does not answer.
        DataError: the target holds nothing that can be read.

    >>> snapshot = read("examples/search-service")
    >>> snapshot.instance.db_class
    'db.r5.2xlarge'
    """
    return read_with_statements(str(target), instance or InstanceOptions(), options)


def diagnose(snapshot: Snapshot) -> Diagnosis:
    """
    Return which limit binds, on what evidence, and what was ruled out.

    Missing data is no error: the verdict is then `unknown`, and gaps list what is missing.

    >>> diagnosis = diagnose(read("examples/search-service"))
    >>> diagnosis.verdict.value
    'binds'
    >>> diagnosis.binding.family.value, round(diagnosis.binding.level / 1e6, 1)
    ('instance_ebs_throughput', 212.9)
    """
    return diagnose_snapshot(snapshot)


def inspect(
    dsn: str, *, seconds: float = 60.0, poolers: Sequence[str] = (), diagnosis: Diagnosis | None = None
) -> Inspection:
    """
    Watch a PostgreSQL server, and return what inside it causes reads and writes.

    All access is read-only; nothing is changed.

    Args:
        dsn: libpq connection string or URI; the role needs pg_monitor.
        seconds: how long it is watched, > 0.
        poolers: addresses or configuration files of poolers in front of it.
        diagnosis: of its storage; shares then refer to the ceiling that binds.

    Raises:
        UsageError: the DSN or an address cannot be read.
        SourceError: the server refuses, or does not answer.
    """
    seen = observe(dsn, seconds, poolers)
    return inspect_observation(seen, NO_CEILING) if diagnosis is None else inspect_for_diagnosis(diagnosis, seen)


def make_plan(
    diagnosis: Diagnosis, snapshot: Snapshot, constraints: PlanConstraints | None = None, *, prices: Path | None = None
) -> Plan:
    """
    Return the changes that lift the ceiling, replayed and priced, cheapest first.

    Args:
        diagnosis: of the snapshot.
        snapshot: the window to replay; a day or more shows the demand of all hours.
        constraints: limits of a change; None allows one percent of the minutes at a ceiling.
        prices: an AWS offer file in place of the catalog's prices.

    Raises:
        UsageError: class, engine or region is not known, or the constraints leave nothing to compare.
        DataError: storage was not measured, or the offer file cannot be read as one.

    >>> snapshot = read("examples/quiet", instance=InstanceOptions(engine="postgres"))
    >>> make_plan(diagnose(snapshot), snapshot).present.judgement.value
    'lifts'
    """
    return plan_snapshot(diagnosis, snapshot, constraints or PlanConstraints(), prices)


def compare(before: Snapshot, after: Snapshot) -> Comparison:
    """
    Compare two windows: limits, throughput, latency and headroom.

    >>> before, after = read("examples/search-service"), read("examples/search-service-after")
    >>> compare(before, after).outcome.value
    'better'
    """
    return compare_snapshots(before, after)


def write(path: str | Path, found: Found | Snapshot) -> None:
    """
    Write a result to a file, whole or not at all; the ending selects the form.

    Args:
        path: ends in `.txt`, `.json`, `.md` or `.html`; a snapshot in `.json` or `.json.gz`.
        found: a report, plan, comparison, inspection or overview; or a snapshot, to be read again.

    Raises:
        UsageError: the ending selects no form, or the file cannot be written.
    """
    from plimsoll.reports.files.file import write_aside
    from plimsoll.reports.files.snapshot import write_snapshot
    from plimsoll.reports.render.origin import PageOrigin

    file = Path(path)
    if isinstance(found, Snapshot):
        write_snapshot(file, found)
        return
    form = _FORMS.get(file.suffix.lower())
    if form is None:
        raise UsageError(f"the ending of '{file.name}' selects no form", f"End it in {', '.join(_FORMS)}.")
    origin = PageOrigin(version=__version__, made_s=now_s())
    write_aside(file, render(found, form, origin=origin).encode())
