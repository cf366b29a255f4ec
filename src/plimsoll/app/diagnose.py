"""Diagnose a snapshot against the catalog of this version."""

from plimsoll.model.diagnosis import Diagnosis
from plimsoll.model.snapshot import Snapshot


def diagnose_snapshot(snapshot: Snapshot) -> Diagnosis:
    """
    Return the diagnosis of a snapshot against the catalog of this version.

    An unknown class is no error: the diagnosis then uses no documented limits, and says so.
    """
    from plimsoll.catalog.load import catalog
    from plimsoll.diagnosis.diagnose import diagnose

    return diagnose(snapshot, catalog())
