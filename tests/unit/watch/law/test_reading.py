"""Which numbers of an instance are shown, and which are not known."""

import numpy as np
import pytest
from msgspec.structs import replace

import builders
import watched
from plimsoll.model.ceiling import Family, Phase
from plimsoll.model.diagnosis import Verdict
from plimsoll.model.metric import Metric
from plimsoll.model.snapshot import Snapshot
from plimsoll.watch.law.message import WatchState
from plimsoll.watch.law.reading import CeilingNumbers, InstanceNumbers, numbers_of
from plimsoll.watch.law.rules.bound import BoundSettings
from plimsoll.watch.law.situation import situation_of
from watched import BASELINE, BURST, END_S, VOLUME

INSTANCE_BYTES, VOLUME_BYTES = "instance_ebs_throughput", "volume_throughput"


def shown(snapshot: Snapshot, **found: object) -> InstanceNumbers:
    """Numbers of a snapshot of three hours."""
    diagnosis = watched.diagnosis(**found)  # type: ignore[arg-type]
    situation = situation_of(snapshot, diagnosis, at_s=END_S)
    return numbers_of(situation, snapshot, BoundSettings())


def ceilings(numbers: InstanceNumbers) -> dict[str, CeilingNumbers]:
    """Ceilings by name."""
    return {one.ceiling: one for one in numbers.ceilings}


def test_a_calm_instance():
    """Ceilings by phase, the newest use, credits and the state; no time to empty while credits do not fall."""
    numbers = shown(watched.snapshot(served=10e6, balance=0.8))

    assert (END_S, Verdict.SLACK) == (numbers.at_s, numbers.verdict)
    assert ceilings(numbers) == {
        INSTANCE_BYTES: CeilingNumbers(
            ceiling=INSTANCE_BYTES,
            unit="bytes/s",
            limits=(("baseline", BASELINE), ("burst", BURST)),
            served=10e6,
            sustained=BASELINE,
            balance_ratio=0.8,
            state=WatchState.OK,
        ),
        VOLUME_BYTES: CeilingNumbers(
            ceiling=VOLUME_BYTES,
            unit="bytes/s",
            limits=(("fixed", VOLUME),),
            served=10e6,
            sustained=VOLUME,
            state=WatchState.OK,
        ),
    }


def test_the_time_to_empty_is_that_of_the_forecast():
    """Of the family of the forecast, and of no other."""
    forecast = watched.forecast(left=0.4, empty_in_s=900.0)

    found = ceilings(shown(watched.snapshot(balance=0.4), forecasts=(forecast,)))

    assert (900.0, None) == (found[INSTANCE_BYTES].empty_in_s, found[VOLUME_BYTES].empty_in_s)


def test_what_is_not_measured_is_unknown():
    """Without a balance and without rates there is a limit, and neither use nor balance."""
    snapshot = watched.snapshot(served=np.full(180, np.nan), balance=None)

    one = ceilings(shown(snapshot))[INSTANCE_BYTES]

    assert (None, None, WatchState.UNKNOWN) == (one.served, one.balance_ratio, one.state)
    assert BASELINE == one.sustained


def test_a_limit_that_nobody_documents_has_a_state():
    """There is no number for it."""
    unknown = watched.interval(Phase.FIXED, family=Family.UNKNOWN, level=70e6)
    snapshot = watched.snapshot(served=70e6)
    situation = situation_of(snapshot, watched.diagnosis(unknown), at_s=END_S)

    numbers = numbers_of(situation, snapshot, BoundSettings())

    (one,) = [c for c in numbers.ceilings if c.ceiling not in (INSTANCE_BYTES, VOLUME_BYTES)]
    assert (WatchState.BOUND, (), None) == (one.state, one.limits, one.served)


def test_of_space_the_used_part_is_shown():
    """The metric counts what is free: 100 GB less 30 GB."""
    free = {Metric.FREE_STORAGE_BYTES: np.full(180, 30e9), Metric.READ_BYTES_PER_S: np.full(180, 1.0)}
    whole = watched.ceiling(Family.STORAGE_SPACE, Phase.FIXED, 100e9, unit="bytes")
    space = replace(watched.resource(Family.STORAGE_SPACE, peak=70e9, bound=whole), unit="bytes")

    found = ceilings(shown(builders.snapshot(free, start_s=watched.START_S), resources=(space,)))

    one = found["storage_space"]
    assert (70e9, 100e9, WatchState.OK) == (one.served, one.sustained, one.state)
    assert (("fixed", 100e9),) == one.limits


def test_the_day_of_the_catalog_is_that_of_the_oldest_number():
    """A legacy limit is old by nature, and does not count."""
    old = watched.ceiling(Family.VOLUME_THROUGHPUT, Phase.FIXED, VOLUME)
    old = replace(old, origin=replace(old.origin, read_on="2025-01-31"))
    legacy = watched.ceiling(Family.VOLUME_THROUGHPUT, Phase.LEGACY, VOLUME)
    legacy = replace(legacy, origin=replace(legacy.origin, read_on="2019-12-04"))

    numbers = shown(watched.snapshot(), ceilings=(watched.CEILINGS[0], old, legacy))

    assert 1_738_281_600 == numbers.catalog_s
    assert shown(watched.snapshot(), ceilings=()).catalog_s is None


@pytest.mark.parametrize(
    ("read_on", "catalog_s"), [("2025-01-31", 1_738_281_600), ("2025-01", 1_735_689_600), ("", None), ("now", None)]
)
def test_a_number_may_have_a_day_a_month_or_no_date(read_on: str, catalog_s: int | None):
    """What is true by definition, or read from the instance itself, has no date."""
    one = watched.CEILINGS[0]
    dated = replace(one, origin=replace(one.origin, read_on=read_on))

    assert catalog_s == shown(watched.snapshot(), ceilings=(dated,)).catalog_s


def test_it_says_that_data_are_simulated():
    assert "true" == dict(shown(watched.snapshot()).facts)["simulated"]
