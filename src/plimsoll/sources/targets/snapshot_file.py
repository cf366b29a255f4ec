"""Read recorded snapshots from files: `.json`, compressed or not."""

from pathlib import Path

from plimsoll.errors import DataError
from plimsoll.model.snapshot import Snapshot
from plimsoll.model.snapshot_file.codec import decode_snapshot
from plimsoll.sources.reading.assemble import MOST_STEPS
from plimsoll.sources.reading.merge import MOST_OF_ANYTHING, longest_window_steps
from plimsoll.sources.values.shown import shown
from plimsoll.sources.values.steps import LONGEST_STEP_S
from plimsoll.sources.values.times import LATEST_S

_HINT = "Save snapshots with 'plimsoll record TARGET -o FILE'."


def decode(data: bytes, path: Path) -> Snapshot:
    """
    Return the snapshot in the content of a file; `path` names it in messages.

    Raises:
        DataError: it is no snapshot of this version.
    """
    name = f"'{shown(path.name, 100)}'"
    try:
        snapshot = decode_snapshot(data)
    except DataError as error:
        raise DataError(f"{name}: {shown(error.message, 300)}", error.hint) from error
    except (RecursionError, OverflowError, AssertionError, TypeError) as error:
        # Numbers beyond 64 bits pass the schema and fail in the arrays.
        raise DataError(f"{name} is not a readable snapshot", _HINT) from error
    for series in snapshot.series.values():
        impossible = (series.value < 0) | (series.value > MOST_OF_ANYTHING)
        late = (series.time_s < 0) | (series.time_s >= LATEST_S)
        if impossible.any() or late.any() or series.step_s > LONGEST_STEP_S:
            raise DataError(f"{name} contains impossible values or times in series '{series.metric.value}'", _HINT)
    if longest_window_steps(snapshot.series.values()) > MOST_STEPS:
        raise DataError(f"the times in {name} are too far apart to be one window", _HINT)
    return snapshot
