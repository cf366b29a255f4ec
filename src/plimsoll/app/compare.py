"""Compare two snapshots."""

from plimsoll.app.diagnose import diagnose_snapshot
from plimsoll.model.comparison import Comparison
from plimsoll.model.snapshot import Snapshot


def compare_snapshots(before: Snapshot, after: Snapshot) -> Comparison:
    """Diagnose two snapshots against this version's catalog, and return their comparison."""
    from plimsoll.diagnosis.comparison.compare import compare

    return compare(diagnose_snapshot(before), before, diagnose_snapshot(after), after)
