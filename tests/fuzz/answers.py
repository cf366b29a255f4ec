"""What may become of any input: a snapshot that can be recorded, or one clear sentence."""

from collections.abc import Callable

from plimsoll.errors import PlimsollError
from plimsoll.model.snapshot import Snapshot
from plimsoll.model.snapshot_file.codec import decode_snapshot, encode_snapshot


def checked(read: Callable[[], Snapshot]) -> Snapshot | None:
    """Read, and check what is read or complained of; None for a complaint. Anything else is ours to mend."""
    try:
        found = read()
    except PlimsollError as error:
        cause, hint = error.message, error.hint
        for text in (cause, hint):
            assert text.strip()
            assert text.isprintable()
            assert len(text) <= 600
        assert not cause.endswith(".")
        assert hint.endswith(".")
        return None
    for gap in found.gaps:
        assert all(text.isprintable() for text in (gap.metric, gap.reason, gap.remedy))
    assert not any((series.value < 0).any() for series in found.series.values())
    written = encode_snapshot(found)
    assert written == encode_snapshot(decode_snapshot(written))
    return found
