"""Two snapshots side by side."""

from plimsoll.app.diagnose import diagnose_snapshot
from plimsoll.model.comparison import Comparison
from plimsoll.model.snapshot import Snapshot


def compare_snapshots(before: Snapshot, after: Snapshot) -> Comparison:
    """Return both, diagnosed against the catalog of this version, side by side."""
    from plimsoll.diagnosis.comparison.compare import compare

    return compare(diagnose_snapshot(before), before, diagnose_snapshot(after), after)
