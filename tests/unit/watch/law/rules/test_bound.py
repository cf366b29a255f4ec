"""The rule about a ceiling that binds now."""

import numpy as np
import pytest
from msgspec.structs import replace

import builders
import watched
from plimsoll.model.ceiling import Dimension, Family, Phase
from plimsoll.model.diagnosis import Verdict
from plimsoll.model.metric import Metric
from plimsoll.watch.law.condition import Condition
from plimsoll.watch.law.message import WatchState
from plimsoll.watch.law.rules.bound import BoundSettings, conditions
from plimsoll.watch.law.situation import Situation, situation_of
from watched import BASELINE, END_S, MINUTE, START_S, VOLUME

MACHINE, STORAGE = "instance_ebs_throughput", "volume_throughput"


def found(situation: Situation) -> dict[str, Condition]:
    """Conditions with the settings that nobody changed."""
    return dict(watched.by_ceiling(conditions(situation, BoundSettings())))


def test_a_limit_that_nobody_documents_binds_too():
    """It has a subject of its own; the interval of another, which ended an hour ago, is no condition."""
    unknown = watched.interval(family=Family.UNKNOWN, phase=Phase.FIXED, level=77e6)
    over = watched.interval(minutes=(60, 120))

    one = found(watched.situation(watched.diagnosis(unknown)))["unknown_throughput"]

    assert one.level is WatchState.BOUND
    assert one.text == "is at a limit that is not documented: 77 MB/s served"
    assert found(watched.situation(watched.diagnosis(over)))[MACHINE].level is WatchState.OK


def test_a_fixed_limit_is_near_from_80_percent_on():
    """The volume has no credits: its use counts, since it was high without a break."""
    served = np.full(watched.MINUTES, 0.79 * VOLUME)
    served[100:] = 0.8 * VOLUME
    near = found(watched.situation(served=served, balance=0.9))[STORAGE]

    assert near.nearing_since_s == START_S + 100 * MINUTE
    assert near.text == "is near its volume throughput limit of 400 MB/s: 320 MB/s served"
    below = found(watched.situation(served=0.79 * VOLUME, balance=0.9))[STORAGE]
    assert below.level is WatchState.OK
    assert below.text == "serves 316 MB/s, 79 % of its volume throughput limit of 400 MB/s"


def test_half_of_the_credits_must_be_gone():
    """Above the baseline with most of the credits left is normal; with half of them left it is near."""
    rich = found(watched.situation(served=1.5 * BASELINE, balance=0.51))[MACHINE]
    falling = np.linspace(1.0, 0.4, watched.MINUTES)
    poor = found(watched.situation(served=1.5 * BASELINE, balance=falling))[MACHINE]

    assert rich.level is WatchState.OK
    assert poor.level is WatchState.NEARING
    assert poor.nearing_since_s == START_S + MINUTE * int(np.flatnonzero(falling <= 0.5)[0])


def test_without_the_balance_a_high_use_is_unknown():
    """Above the baseline only the credits tell whether it lasts; far below it nobody needs them."""
    high = found(watched.situation(served=1.2 * BASELINE, balance=None))[MACHINE]
    low = found(watched.situation(served=0.2 * BASELINE, balance=None))[MACHINE]

    assert high.level is WatchState.UNKNOWN
    assert high.text == ("cannot be compared with its instance EBS throughput: its credits are not measured")
    assert low.level is WatchState.OK


def test_what_is_not_measured_is_unknown():
    """Rates without a value, rates that ended long ago, a diagnosis without a verdict, and no limits at all."""
    ended = np.full(watched.MINUTES, np.nan)
    ended[:100] = 1e6
    blind = [
        watched.situation(served=np.nan),
        watched.situation(served=ended),
        watched.situation(watched.diagnosis(verdict=Verdict.UNKNOWN)),
    ]
    (bare,) = conditions(watched.situation(watched.diagnosis(ceilings=())), BoundSettings())

    assert [{c.level for c in found(one).values()} for one in blind] == 3 * [{WatchState.UNKNOWN}]
    assert (bare.ceiling, bare.level) == ("", WatchState.UNKNOWN)


def test_only_the_nearest_of_several_ceilings_is_near():
    """The same requests meet all ceilings: a second message would say nothing new, and none while one binds."""
    both = found(watched.situation(served=0.9 * VOLUME, balance=0.3))
    binds = watched.diagnosis(watched.interval(level=BASELINE))
    bound = found(watched.situation(binds, served=0.9 * VOLUME, balance=0.0))

    assert (both[MACHINE].level, bound[MACHINE].level) == (WatchState.NEARING, WatchState.BOUND)
    assert both[STORAGE].level is bound[STORAGE].level is WatchState.OK
    assert both[STORAGE].text == ("serves 360 MB/s, and another storage ceiling is closer than its volume throughput")


FULL = watched.ceiling(Family.STORAGE_SPACE, Phase.FIXED, 100e9, unit="bytes")
AT_MAXIMUM = {
    Family.STORAGE_SPACE: (FULL, "is at the maximum of its storage space, 93.1 GiB"),
    Family.CPU: (watched.ceiling(Family.CPU, Phase.FIXED, 1.0, unit="ratio"), "is at the maximum of its CPU, 100 %"),
    Family.CONNECTIONS: (
        watched.ceiling(Family.CONNECTIONS, Phase.FIXED, 500.0, unit="count"),
        "is at the maximum of its connections, 500",
    ),
    Family.CPU_CREDITS: (
        watched.ceiling(Family.CPU_CREDITS, Phase.BASELINE, 0.2, unit="ratio"),
        "has no CPU credits left; without them its baseline of 20 % applies",
    ),
}


@pytest.mark.parametrize("family", AT_MAXIMUM)
def test_what_is_no_storage_rate_binds_at_its_maximum(family: Family):
    """It is what the diagnosis found, since then, with its name, beside the storage rates that do not bind."""
    bound, text = AT_MAXIMUM[family]
    at = replace(watched.interval(family=family, bound=bound, level=bound.value), dimension=Dimension.AMOUNT)
    resources = (watched.resource(family, peak=bound.value, bound=bound),) if family.facts.is_resource else ()

    states = found(watched.situation(watched.diagnosis(at, resources=resources)))

    one = states[family.value]
    assert (WatchState.BOUND, family.facts.name, text) == (one.level, one.name, one.text)
    assert START_S + 150 * MINUTE == one.bound_since_s
    assert WatchState.OK is states[MACHINE].level


def test_a_resource_below_its_maximum_is_ok_while_it_is_measured():
    """Without new samples it is unknown; one that was never measured has no condition, as it has no verdict."""
    space = watched.resource(Family.STORAGE_SPACE, peak=70e9, bound=FULL)
    asked = watched.diagnosis(resources=(space, watched.resource(Family.NETWORK, peak=None)))
    free = {Metric.FREE_STORAGE_BYTES: np.full(watched.MINUTES, 30e9)}
    late = {Metric.FREE_STORAGE_BYTES: np.full(60, 30e9)}
    states = [found(situation_of(builders.snapshot(samples), asked, at_s=END_S)) for samples in (free, late)]

    assert [WatchState.OK, WatchState.UNKNOWN] == [one["storage_space"].level for one in states]
    assert not any("network" in one for one in states)


def test_spent_storage_credits_are_left_to_their_own_rule():
    """One message for one cause: `balance-empty` says that none are left."""
    bound = watched.ceiling(Family.VOLUME_CREDITS, Phase.BASELINE, 300.0, unit="ops/s")
    at = replace(watched.interval(family=bound.family, bound=bound, level=200.0), dimension=Dimension.AMOUNT)

    assert bound.family.value not in found(watched.situation(watched.diagnosis(at)))
