"""Windows of more than 8,000 samples, of which a median uses an evenly spaced selection."""

from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from plimsoll.app.diagnose import diagnose_snapshot
from plimsoll.diagnosis.recognition import evidence, intervals
from plimsoll.diagnosis.recognition.signs import _short_term_spread
from plimsoll.model.diagnosis import Verdict
from plimsoll.model.series import Series
from plimsoll.model.snapshot_file.codec import decode_snapshot

EXAMPLE = Path(__file__).parents[2] / "examples/search-service/snapshot.json"


def cycled(days: int, start: int = 0):
    """The example's two days again and again, from a sample of its own."""
    seen = decode_snapshot(EXAMPLE.read_bytes())
    count = days * 1440
    series = {}
    for metric, one in seen.series.items():
        value = np.resize(np.roll(one.value, start), count)
        times = one.time_s[0] + one.step_s * np.arange(count, dtype=np.int64)
        series[metric] = Series(metric=metric, step_s=one.step_s, time_s=times, value=value)
    return replace(seen, series=series)


@pytest.mark.parametrize("start", [0, 288, 2424, 2712])
def test_a_cycled_window_is_diagnosed(start):
    """Of 20,160 samples in cycles, the selection can have a median that lies between two of them."""
    assert Verdict.BINDS == diagnose_snapshot(cycled(14, start)).verdict


def test_a_selection_of_pairs_passes_over_no_known_one():
    """Gaps in time with the selection do not hide the noise: only known samples are selected from."""
    rng = np.random.default_rng(1)
    rate = 1e6 * np.exp(rng.normal(0, 0.1, 20_004))
    # Of four samples the first is lost; every second pair of the rest would be one with it.
    rate[::4] = np.nan
    first = np.full(rate.size, True)

    np.testing.assert_allclose(0.1, _short_term_spread(rate, first), rtol=0.05)


def test_what_is_the_same_for_a_level_is_found_once(monkeypatch):
    """A year has thousands of intervals, and half a million samples: what they share is not found again."""
    calls = []
    found = evidence.context_evidence_of
    monkeypatch.setattr(intervals, "context_evidence_of", lambda *one: calls.append(one) or found(*one))
    few, many = (diagnose_snapshot(cycled(days)) for days in (2, 8))

    assert 3 * len(few.intervals) < len(many.intervals)
    assert len(calls) <= 2 * len(many.time_at)
