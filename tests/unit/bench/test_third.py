"""The third generator: its truth is consistent, and the diagnosis recognises its cases of waiting."""

import numpy as np
import pytest

from plimsoll.app.diagnose import diagnose_snapshot
from plimsoll.catalog.load import catalog
from plimsoll.limits import ceilings_of
from plimsoll.model.ceiling import Dimension, Phase
from plimsoll.model.diagnosis import Verdict
from plimsoll.model.instance import Instance
from plimsoll.model.metric import Metric
from third import cases, waits
from third.cases import INNOCENT, PRESSED, incident


def test_equal_seeds_give_equal_incidents():
    """The same seed gives the same snapshot and the same truth."""
    first, again = incident(3), incident(3)

    assert first.snapshot == again.snapshot
    np.testing.assert_array_equal(first.throttled, again.throttled)


@pytest.mark.parametrize("kind", INNOCENT)
def test_the_innocent_never_lack_a_token(kind):
    """A kind without a ceiling has no second in which a request waited for a token, and is not accused."""
    made = incident(5, kind)

    assert np.nanmax(made.throttled) == 0.0
    assert [] == [i for i in diagnose_snapshot(made.snapshot).intervals if i.dimension is not Dimension.AMOUNT]


@pytest.mark.parametrize("kind", sorted(set(PRESSED) - {"short", "hovers"}))
def test_nothing_passes_the_limit_that_holds(kind):
    """In samples without tokens throughout, the served rate is the documented one."""
    made = incident(8, kind)
    series = made.snapshot.series
    time_s = series[Metric.READ_OPS_PER_S].time_s
    held = (made.throttled > 0.99)[np.searchsorted(made.time_s, time_s)]
    at = np.searchsorted(made.time_s, time_s[held])
    rates = {
        0: series[Metric.READ_BYTES_PER_S].value + series[Metric.WRITE_BYTES_PER_S].value,
        1: series[Metric.READ_OPS_PER_S].value + series[Metric.WRITE_OPS_PER_S].value,
    }
    served = np.where(made.families[at] % 2 == 0, rates[0][held], rates[1][held])

    assert held.any()
    # A sample in which credits ran out contains two rates.
    assert np.median(np.abs(served / made.levels[at] - 1)) < 0.001


def test_the_classes_are_those_of_the_catalog():
    """Every class of the generator has the numbers that are documented for it."""
    for name, *numbers in cases.CLASSES:
        rows = ceilings_of(Instance(db_class=name), catalog())
        present = {c.value for c in rows if c.phase is not Phase.LEGACY}
        base_mb, peak_mb, base_ops, peak_ops = numbers

        assert {base_mb * 1e6, peak_mb * 1e6, base_ops, peak_ops} <= present, name


@pytest.mark.parametrize("name", waits.CASES)
def test_waiting_is_reported(name):
    """Requests wait for minutes below every ceiling: the verdict is never that nothing binds."""
    assert diagnose_snapshot(waits.CASES[name]()).verdict in {Verdict.BINDS, Verdict.UNKNOWN}


@pytest.mark.parametrize("name", waits.QUIET)
def test_the_quiet_are_not_accused(name):
    """Busy, limited by the application or by its CPU, deep queue at low latency: no ceiling is named."""
    assert () == diagnose_snapshot(waits.QUIET[name]()).intervals
