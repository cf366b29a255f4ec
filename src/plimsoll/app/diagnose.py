"""Diagnose a target or a snapshot against the catalog of this version."""

from pathlib import Path

from msgspec.structs import replace

from plimsoll.app.options import InstanceOptions, ReadOptions
from plimsoll.app.progress import SILENT, Progress
from plimsoll.app.read import read_target, reading_of
from plimsoll.app.targets import Rds, Target, target_of
from plimsoll.errors import UsageError
from plimsoll.model.diagnosis import Diagnosis
from plimsoll.model.own_event import OwnEventFile
from plimsoll.model.snapshot import Snapshot


def diagnose_target(
    target: str | Target, flags: InstanceOptions, read_options: ReadOptions | None = None, progress: Progress = SILENT
) -> tuple[Snapshot, Diagnosis]:
    """
    Read a target, diagnose it, read who was active while a limit was reached, and attach that to both.

    Arguments and errors are those of `read_target`.
    """
    from plimsoll.diagnosis.stretches import stretches_of

    with reading_of(target, flags, read_options, progress, has_statements=True) as reading:
        diagnosis = diagnose_snapshot(reading.snapshot)
        at = stretches_of(diagnosis)
        if at is None:
            return reading.snapshot, diagnosis
        snapshot = reading.with_statements(reading.snapshot, (at.why, at.during, at.outside))
    if snapshot.gaps != reading.snapshot.gaps:  # they were not to be had, and the diagnosis lists what is missing
        return snapshot, diagnose_snapshot(snapshot)
    return snapshot, _with_statements(diagnosis, snapshot)


def read_with_statements(
    target: str | Target, flags: InstanceOptions, read_options: ReadOptions | None = None, progress: Progress = SILENT
) -> Snapshot:
    """
    Return the snapshot of a target, and in it who was active while a limit was reached.

    Only an account knows that, so nothing else is diagnosed. Arguments and errors are those of `read_target`.
    """
    if not isinstance(target_of(target), Rds):
        return read_target(target, flags, read_options, progress)
    return diagnose_target(target, flags, read_options, progress)[0]


def diagnose_snapshot(snapshot: Snapshot) -> Diagnosis:
    """
    Return the diagnosis of a snapshot against the catalog of this version.

    An unknown class is no error: the diagnosis then uses no documented limits, and says so.
    """
    from plimsoll.catalog.load import catalog
    from plimsoll.diagnosis.diagnose import diagnose

    return _with_statements(diagnose(snapshot, catalog()), snapshot)


def _with_statements(diagnosis: Diagnosis, snapshot: Snapshot) -> Diagnosis:
    """Return a diagnosis with the statements that were active, if the snapshot has them."""
    if snapshot.session_load is None:
        return diagnosis
    from plimsoll.catalog.load import catalog
    from plimsoll.causes.session_load import statement_load

    rules = catalog().wait_rules(snapshot.instance.engine or "")
    return replace(diagnosis, statements=statement_load(snapshot.session_load, rules))


def read_events(file: Path | None, zone: str | None) -> OwnEventFile | None:
    """
    Return the caller's own events; None if there is no file.

    Args:
        file: CSV or JSON.
        zone: of times in it that have none: `UTC`, `Europe/Berlin`.

    Raises:
        UsageError: a zone without a file, or a zone or a file that does not exist.
        SourceError: the file cannot be read.
        DataError: the file is too large, or a row of it is not an event.
    """
    if file is None:
        if zone is not None:
            raise UsageError("--events-zone needs --events", "Give --events FILE as well.")
        return None
    if not file.exists():
        raise UsageError(f"'{file}' does not exist", "Give --events a CSV or JSON file with start, end and name.")
    from plimsoll.sources.own_events.read import read_own_events

    return read_own_events(file, zone)


def with_own_events(diagnosis: Diagnosis, snapshot: Snapshot, events: OwnEventFile | None) -> Diagnosis:
    """Return a diagnosis with the caller's own events and the I/O of their time."""
    if events is None:
        return diagnosis
    from plimsoll.diagnosis.own_events import own_events_io

    return replace(diagnosis, own_events=own_events_io(events, snapshot, diagnosis))
