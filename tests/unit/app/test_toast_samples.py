"""Which tables `plimsoll inspect --decode-toast` samples, and what becomes of a refusal."""

import msgspec

from databases import seen, table, toast_of
from plimsoll.app.toast_samples import decode_seconds, with_samples
from plimsoll.causes.budget import Budget
from plimsoll.causes.toast import toast
from plimsoll.errors import UsageError
from plimsoll.model.toast import ToastSample

DSN = "host=db1 dbname=orders"
BUDGET = Budget(read_bytes_per_s=None, written_bytes_per_s=None)


def suspected(count: int):
    """So many tables whose updates write five chunks each again, the first the most often."""
    before, after = [], []
    for n in range(count):
        owner, chunks = toast_of(
            table(100 + 2 * n, f"public.t{n}", live_rows=1000), live_rows=5000, size_bytes=5000 * 2048
        )
        updates = 6000 - n
        before += [owner, chunks]
        after += [
            msgspec.structs.replace(owner, updated=updates),
            msgspec.structs.replace(chunks, inserted=5 * updates, deleted=5 * updates),
        ]
    return seen(before, after)


def same(dsn: str, name: str, seconds: float) -> tuple[ToastSample, ...]:
    """A sample in which every value was the same."""
    sample = ToastSample(
        table=name, column="body", seconds=seconds, untouched=0, resent_same=100, resent_changed=0, resent_unknown=0
    )
    return (sample,)


def test_the_three_largest_are_sampled():
    """Of five tables the three with the most bytes, and the findings are then certain."""
    found = with_samples(DSN, suspected(5), 1.0, same)
    codes = {c.subject: c.code for c in toast.causes(found, BUDGET)}

    assert ["public.t0", "public.t1", "public.t2"] == [s.table for s in found.toast_samples]
    assert "ToastValuesRewritten" == codes["public.t0.body"]
    assert "ToastValuesResent" == codes["public.t4"]


def test_a_refusal_is_told_and_ends_nothing():
    """A server that logs too little leaves the observation as it is, and says so."""

    def refuse(dsn: str, name: str, seconds: float) -> tuple[ToastSample, ...]:
        raise UsageError("logical decoding is not possible: wal_level is replica", "Restart it.")

    found = with_samples(DSN, suspected(1), 1.0, refuse)

    assert not found.toast_samples
    assert (
        "sample of public.t0",
        "Logical decoding is not possible: wal_level is replica. Restart it.",
    ) in found.missing


def test_nothing_is_sampled_where_nothing_is_suspected():
    """Without a suspicion no slot is made."""
    asked = []
    found = with_samples(DSN, suspected(0), 1.0, lambda *of: asked.append(of) or ())

    assert not asked
    assert not found.toast_samples


def test_seconds_of_a_slot_are_read():
    """Nothing given is nothing done; the transcripts of `inspect` refuse more than a minute."""
    assert decode_seconds(None) is None
    assert 10 == decode_seconds("10s")
