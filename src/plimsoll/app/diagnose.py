"""Diagnose a snapshot against the catalog of this version."""

from pathlib import Path

from plimsoll.errors import UsageError
from plimsoll.model.diagnosis import Diagnosis
from plimsoll.model.own_event import OwnEventFile
from plimsoll.model.snapshot import Snapshot


def diagnose_snapshot(snapshot: Snapshot) -> Diagnosis:
    """
    Return the diagnosis of a snapshot against the catalog of this version.

    An unknown class is no error: the diagnosis then uses no documented limits, and says so.
    """
    from plimsoll.catalog.load import catalog
    from plimsoll.diagnosis.diagnose import diagnose

    found = diagnose(snapshot, catalog())
    if snapshot.session_load is None:
        return found
    from msgspec.structs import replace

    from plimsoll.causes.session_load import statement_load

    rules = catalog().wait_rules(snapshot.instance.engine or "")
    return replace(found, statements=statement_load(snapshot.session_load, rules))


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
    from msgspec.structs import replace

    from plimsoll.diagnosis.own_events import own_events_io

    return replace(diagnosis, own_events=own_events_io(events, snapshot, diagnosis))
