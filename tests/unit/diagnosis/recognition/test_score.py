"""Each sign moves the probability of a ceiling the way the physics says."""

from dataclasses import replace

import numpy as np
import pytest

from builders import ceiling
from plimsoll.diagnosis.recognition.binding import BalanceView, Match
from plimsoll.diagnosis.recognition.score import PRIOR, SIGNS, score_of, weights_of
from plimsoll.diagnosis.recognition.signs import LevelCase, Signs
from plimsoll.model.ceiling import Dimension, Family, Phase
from plimsoll.model.metric import Metric

NAN = float("nan")
BYTES = Metric.BYTE_BALANCE_RATIO
EMPTY = BalanceView(low=0.0, high=0.0, change_per_s=0.0)
FULL = BalanceView(low=1.0, high=1.0, change_per_s=0.0)
FALLING = BalanceView(low=0.3, high=0.7, change_per_s=-1e-4)
EBS = Family.INSTANCE_EBS_THROUGHPUT

UNKNOWN = (Match(ceiling=None, probability=1.0, z=NAN),)


def documented(phase: Phase, family: Family = EBS, balance: Metric | None = BYTES):
    row = ceiling(family, phase, 100e6, balance=balance)
    return (Match(ceiling=row, probability=0.97, z=0.1), Match(ceiling=None, probability=0.03, z=NAN))


FIXED = documented(Phase.FIXED, Family.VOLUME_THROUGHPUT, None)
BASELINE = documented(Phase.BASELINE)
BURST = documented(Phase.BURST)

# Half an hour at one number, flat within half a percent, taking two and a half times as long.
PLAIN = Signs(
    minutes=30.0,
    samples=30,
    run_count=1,
    log_sd=0.006,
    log_sd_elsewhere=0.03,
    log_excess=float(np.log(2.5)),
    least_log_excess=float(np.log(2.0)),
    waited_share=0.9,
    free_above_ratio=0.0,
    above_ratio=0.0,
    entered_from_above=0.0,
    left_upwards=0.0,
    pressed_above_ratio=0.0,
    pressed_below_ratio=0.0,
    is_reference_seen=True,
    elasticity=0.06,
    cpu_ratio=0.4,
)


def weights(
    signs=PLAIN, matches=UNKNOWN, balances=None, *, has_catalog=True, dimension=Dimension.THROUGHPUT, **changes
) -> dict[str, float]:
    return weights_of(
        LevelCase(
            level=100e6,
            dimension=dimension,
            signs=replace(signs, **changes),
            matches=matches,
            balances=balances or {},
            has_catalog=has_catalog,
        )
    )


def of(*given, **how) -> float:
    return score_of(weights(*given, **how))


@pytest.mark.parametrize(
    "stronger",
    [
        {"log_sd": 0.002},  # flatter
        {"log_sd_elsewhere": 0.06},  # while the workload is noisier
        {"log_excess": float(np.log(4))},  # longer waits
        {"elasticity": 0.02},  # waiting varies, the rate does not
        {"minutes": 90.0, "samples": 90},  # held longer
        {"run_count": 3},  # held again and again
    ],
)
@pytest.mark.parametrize("matches", [UNKNOWN, FIXED], ids=["unknown", "documented"])
def test_a_stronger_sign_raises_the_score(stronger, matches):
    """Flatness, waiting, inelasticity and persistence speak for a ceiling."""
    assert of(matches=matches) < of(matches=matches, **stronger)


@pytest.mark.parametrize(
    "weaker",
    [
        {"log_sd": 0.02},
        {"log_excess": float(np.log(1.2))},
        {"waited_share": 0.5},
        {"free_above_ratio": 0.5},
        {"pressed_above_ratio": 0.3},
        {"pressed_below_ratio": 0.5},
        {"elasticity": 0.5},
        {"minutes": 9.0, "samples": 9},
    ],
)
@pytest.mark.parametrize("matches", [UNKNOWN, FIXED], ids=["unknown", "documented"])
def test_a_contrary_sign_lowers_the_score(weaker, matches):
    """Noise, ease, more served above it and pressed samples around it speak against a ceiling."""
    assert of(matches=matches) > of(matches=matches, **weaker)


def test_a_documented_number_raises_the_score():
    """A level that AWS documents is more probably a ceiling than one at no number."""
    assert of(matches=FIXED) > of(matches=UNKNOWN) + 2


def test_flatness_alone_is_not_enough():
    """However flat and however long: without waiting a level is no ceiling, not even at a number of AWS."""
    steady = {"log_sd": 1e-4, "minutes": 1e4, "samples": 10_000, "run_count": 9}
    unknown = steady | {"elasticity": 1e-3}

    assert of(**unknown, log_excess=0.0, waited_share=0.0) < 0
    assert of(**unknown, log_excess=float(np.log(1.5))) < 0
    assert of(matches=FIXED, **steady, log_excess=0.0, waited_share=0.02) < 0


@pytest.mark.parametrize("times", [2.5, 7])
def test_storage_never_seen_unpressed_needs_longer_waits(times):
    """What was always slow may simply be slow, so a general reference convinces less."""
    seen = of(log_excess=float(np.log(times)))
    unseen = of(log_excess=float(np.log(times)), is_reference_seen=False)

    assert unseen < seen - 2


def test_balances_move_the_score():
    """
    A baseline without credits left scores higher than one whose balance was not read, or is not empty,
    and where latency and queue are missing that carries the claim. A burst is paid with credits: falling
    speaks for it, standing still against it. No bytes left vouches for a throughput level at no number,
    and not for one of IOPS.
    """
    empty = of(matches=BASELINE, balances={BYTES: EMPTY})
    unread = of(matches=BASELINE)
    left = of(matches=BASELINE, balances={BYTES: FALLING})
    blind = {"log_excess": NAN, "waited_share": NAN, "elasticity": NAN}
    falling = of(matches=BURST, balances={BYTES: FALLING})
    still = of(matches=BURST, balances={BYTES: FULL})
    signs = (PLAIN, UNKNOWN, {BYTES: EMPTY})
    in_bytes = of(*signs)
    in_ops = of(*signs, dimension=Dimension.IOPS)

    assert empty > unread > left
    assert of(matches=BASELINE, balances={BYTES: EMPTY}, log_sd=0.002, **blind) > 0
    assert of(matches=UNKNOWN, log_sd=0.002, **blind) < 0
    assert falling > of(matches=BURST) > still
    assert in_bytes > in_ops
    assert in_ops == of()


def test_a_busy_cpu_explains_a_flat_rate():
    """A CPU at its end makes a rate stand still; the less requests waited, the more it explains."""
    short, long = float(np.log(2.2)), float(np.log(20))
    lost = of(log_excess=short) - of(log_excess=short, cpu_ratio=0.97)

    assert lost > 2
    assert of(log_excess=long) == of(log_excess=long, cpu_ratio=0.97)
    assert of(matches=FIXED) == of(matches=FIXED, cpu_ratio=0.97)


def test_a_documented_number_loses_two_at_most_to_what_was_served_above_it():
    """Class, storage and credits may have differed then; a level without a number has no such excuse."""
    numbered = weights(matches=FIXED, free_above_ratio=10.0)["exceeded"]
    unnumbered = weights(matches=UNKNOWN, free_above_ratio=10.0)["exceeded"]

    assert (-2.0, -5.0) == (numbered, unnumbered)


def test_a_limit_with_credits_may_be_exceeded():
    """More served above the level counts less if the level was entered from above and left downwards."""
    exceeded = of(above_ratio=1.0)
    as_bucket = of(above_ratio=1.0, entered_from_above=1.0)
    as_fault = of(above_ratio=1.0, entered_from_above=1.0, left_upwards=1.0)

    assert as_bucket > exceeded
    assert as_fault == pytest.approx(exceeded)


def test_what_steadiness_adds_is_bounded():
    """
    A producer with a limit of its own is as steady as a ceiling: no steadiness outweighs the rest. Three
    samples at exactly one number are not as flat as they look.
    """
    steady = {"log_sd": 1e-5, "minutes": 1e5, "samples": 100_000, "elasticity": 1e-4}
    steadier = {"log_sd": 1e-6, "minutes": 1e6, "samples": 1_000_000, "elasticity": 1e-5}
    few = {"log_sd": 0.0, "minutes": 15.0, "samples": 3}

    assert of(**steady) == pytest.approx(of(**steadier))
    assert of(**few) < of(log_sd=0.002, minutes=30.0, samples=30)


def test_the_score_is_the_prior_and_what_each_sign_weighs():
    """Nothing else counts: the score is PRIOR plus the weights that are reported."""
    found = weights(matches=BASELINE, balances={BYTES: EMPTY}, pressed_above_ratio=0.1)

    assert PRIOR + sum(found.values()) == of(matches=BASELINE, balances={BYTES: EMPTY}, pressed_above_ratio=0.1)


@pytest.mark.parametrize(
    ("above", "below", "taken"),
    [
        (0.0, 0.1, 0.0),  # a tenth below is what partly pegged minutes leave
        (0.25, 0.0, 2.0),  # above: 8 nats for as much time as at the level
        (0.5, 0.0, 4.0),
        (1.0, 0.0, 5.0),  # and 5 at most
        (0.0, 0.5, 1.0),  # below: 2.5 for as much time as at the level, beyond the first tenth
        (0.0, 2.0, 3.0),  # and 3 at most
        (1.0, 2.0, 8.0),
    ],
)
@pytest.mark.parametrize("matches", [UNKNOWN, FIXED], ids=["unknown", "documented"])
def test_a_level_without_a_cliff_loses_by_the_time_next_to_it(above, below, taken, matches):
    """Pressed time just above a level counts against it three times as fast as time just below."""
    found = weights(matches=matches, pressed_above_ratio=above, pressed_below_ratio=below)

    assert -taken == pytest.approx(found["cliff"])


def test_no_weight_leaves_its_bounds():
    """However extreme what is seen, each sign adds and takes no more than its row says."""
    extremes = [
        {"log_sd": 0.5, "log_excess": -9.0, "waited_share": 0.0, "elasticity": 99.0},
        {"log_sd": 1e-9, "log_excess": 99.0, "minutes": 1e9, "samples": 10**9, "run_count": 10**6},
        {"pressed_above_ratio": 1e9, "pressed_below_ratio": 1e9, "above_ratio": 1e9},
        {"free_above_ratio": 1e9, "entered_from_above": 1.0, "log_sd_elsewhere": 1e-9},
        {"cpu_ratio": 1.0, "log_excess": 0.0, "minutes": 0.1, "samples": 1},
    ]
    for changes in extremes:
        for matches in (UNKNOWN, FIXED, BASELINE, BURST):
            for sign in SIGNS:
                weight = weights(matches=matches, balances={BYTES: EMPTY}, **changes)[sign.name]

                assert sign.low - 1e-9 <= weight <= sign.high + 1e-9, sign.name
