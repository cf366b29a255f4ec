"""
The weight of each sign, and their sum: the score that a level is a ceiling.

Rule 1: a level's score is PRIOR plus the weights of SIGNS; nothing else counts.
Rule 2: every weight is reported: each row has its sentence (sign_words.py), and the table of
        docs/concepts/how-a-ceiling-is-recognised.md is made from these rows.

A weight is a log-likelihood ratio in nats: 1 makes a ceiling 2.7 times as likely, 2.3 ten times,
4.6 a hundred times. The weights are judgements of how strong each sign is on physical grounds,
checked on simulated incidents (bench/score.py, tuning seeds only). What each can add or take is
bounded, so that no single one decides.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from plimsoll.diagnosis.recognition import sign_words as words
from plimsoll.diagnosis.recognition.binding import EMPTY_RATIO
from plimsoll.diagnosis.recognition.congestion import INELASTIC
from plimsoll.diagnosis.recognition.credits import Credits
from plimsoll.diagnosis.recognition.sign_words import SignText
from plimsoll.diagnosis.recognition.signs import LevelCase
from plimsoll.model.ceiling import Phase
from plimsoll.model.contained import guarded
from plimsoll.model.diagnosis import VERDICT
from plimsoll.model.family import balance_metrics

# Before any sign: of the numbers at which samples pile up, one in fifty-five is a ceiling. Workloads
# have many habits (batches, pools, timers), a window has one or two ceilings.
PRIOR = -4.0
# The most that all signs of steadiness together can add. A producer with a limit of its own is as steady as a
# ceiling, so steadiness can balance the prior, and no more: something else must decide.
STEADY_MAX = 4.0
# The spread of an enforced rate: half of the published incidents lie within this of their number.
# Few samples underestimate the spread, so it is averaged with this one, which counts as USUAL_SAMPLES samples.
USUAL_LOG_SD = 0.006
USUAL_SAMPLES = 4
# Steadiness of n samples counts n ÷ (n + 3): three samples count half as much as many.
HALF_SAMPLES = 3
# A rate whose minutes vary by more than this is not enforced; below this it may be.
FLAT_LOG_SD = 0.008
# A shorter level may be chance; a longer one has a cause.
HELD_MINUTES = 20
# Keys: (at a documented number, reference from this window). Above this ratio an error of the reference does not
# explain the waiting: a third longer than a reference of this window, twice as long as a general one. Without a
# documented number it is 2.2 and 8 times; no unthrottled SSD is that slow.
WAITED_LOG = {
    (True, True): 0.3,
    (True, False): 0.7,
    (False, True): float(np.log(2.2)),
    (False, False): float(np.log(8.0)),
}
# If the load differs by a tenth, the latency of an unpressed volume differs by a tenth at most. So requests
# that take 15 % longer at a level than a little below it wait there.
STEP_LOG = float(np.log(1.15))
# The most that `waiting` and `step` together can add.
WAITED_MAX = 2.5
# This weight is below every bound, so it is cut to the bound, which alone excludes a level.
AT_EASE = -100.0
# Share of the time at a ceiling in which requests wait; the reference misjudges the other samples.
WAITED_SHARE = 0.85
# Share of waiting time that may be a little below a ceiling: minutes that were only partly at it.
PARTLY_BELOW = 0.1
# Judgement: the metric is a mean over all vCPUs and a minute, so a CPU that is full in effect stays
# below 100 %.
CPU_BOUND_RATIO = 0.93


@dataclass(frozen=True, slots=True, kw_only=True)
class Sign:
    """One kind of observation: its bounds, their reason, its weight and its sentence."""

    name: str
    """The `kind` of its evidence."""
    behind: str
    """What is seen behind a ceiling."""
    otherwise: str
    """What is seen elsewhere."""
    low: float
    """Most it can take, nats ≤ 0."""
    high: float
    """Most it can add, nats ≥ 0."""
    why: str
    """Why these bounds."""
    weigh: Callable[[LevelCase], float]
    """Nats of one case; NaN where it could not be observed. Cut to the bounds by `weights_of`."""
    text_of: Callable[[LevelCase], SignText]
    """Returns the sentence of one case."""
    is_of_stretch: bool = False
    """Whether the sentence is about one stretch; others are the same for all stretches of a level."""


def weights_of(case: LevelCase) -> dict[str, float]:
    """Return the weight of every sign of SIGNS in this case, nats; 0 where it was not observed."""
    weights = {}
    for sign in SIGNS:
        raw = guarded(f"the sign '{sign.name}'", partial(sign.weigh, case), float("nan"), hides=VERDICT)
        weights[sign.name] = float(np.clip(raw, sign.low, sign.high)) if np.isfinite(raw) else 0.0
    if weights["step"] > 0:
        # The same hours are a better reference than the calmest ones.
        weights["waiting"] = max(weights["waiting"], 0.0)
    _scale(weights, STEADINESS, _steadiness_factor(case, weights))
    if is_proven(case) and (np.isfinite(case.signs.log_excess) or case.is_few):
        # With an empty balance the rate is the baseline, so a lack of measured waiting counts little.
        total = sum(weights[name] for name in WAITING)
        _scale(weights, WAITING, 1.0 if total >= -1 else -1 / total)
    return weights


def score_of(weights: dict[str, float]) -> float:
    """Return the sum in nats; 0 is even odds."""
    return PRIOR + sum(weights.values())


def is_proven(case: LevelCase) -> bool:
    """Return whether the balance that decides was empty during the level's stretches."""
    row = case.best.ceiling
    if row is None:
        return _some_empty(case)
    if row.balance_metric is None or row.bucket_phase != Phase.BASELINE:
        return False
    view = case.balances.get(row.balance_metric)
    return view is not None and view.is_empty


def _scale(weights: dict[str, float], names: tuple[str, ...], factor: float) -> None:
    for name in names:
        weights[name] *= factor


def _steadiness_factor(case: LevelCase, weights: dict[str, float]) -> float:
    """Return the factor that cuts the signs of steadiness: for few samples, and to STEADY_MAX in total."""
    total = sum(weights[name] for name in STEADINESS)
    if total <= 0:
        return 1.0
    seen = case.signs.samples / (case.signs.samples + HALF_SAMPLES)
    return min(total * seen, STEADY_MAX) / total


def _spread(case: LevelCase) -> float:
    signs = case.signs
    # A pooled variance: the measured one, with the usual one as if USUAL_SAMPLES more were measured.
    squares = signs.samples * signs.log_sd**2 + USUAL_SAMPLES * USUAL_LOG_SD**2
    return float(np.sqrt(squares / (signs.samples + USUAL_SAMPLES)))


def _match(case: LevelCase) -> float:
    if case.has_catalog:
        # The second part is the higher prior at documented numbers: levels there are more often ceilings.
        return 2.5 * case.documented + (2.0 if case.is_numbered else 0.0)
    # Without documented numbers, a ceiling is expected at none.
    is_waiting_known = np.isfinite(case.signs.log_excess)
    return (1.8 if is_waiting_known else 0.0) + (2.0 if case.is_numbered else 0.0)


def _waiting(case: LevelCase) -> float:
    signs = case.signs
    least = WAITED_LOG[case.is_numbered, signs.is_reference_seen]
    if case.is_few and not signs.least_log_excess >= least:
        return AT_EASE
    if not np.isfinite(signs.log_excess):
        return -1.5
    over = signs.log_excess - least
    # Steady demand at a documented number is common; without waiting it is excluded quickly.
    return (12.0 if case.is_numbered and over < 0 else 4.0) * over


def _step(case: LevelCase) -> float:
    # The part that `waiting` already counts is subtracted.
    shown = min(8.0 * (case.signs.step_log - STEP_LOG), WAITED_MAX)
    return max(shown - max(_waiting(case), 0.0), 0.0) if shown > 0 else 0.0


def _waited_share(case: LevelCase) -> float:
    signs = case.signs
    if not (np.isfinite(signs.log_excess) and np.isfinite(signs.waited_share)):
        return float("nan")
    most = 1.0 if case.is_numbered else 0.0
    # A general reference does not show which samples waited on this storage.
    weight = min(8.0 * (signs.waited_share - WAITED_SHARE), most)
    return weight if signs.is_reference_seen else max(weight, 0.0)


def _flatness(case: LevelCase) -> float:
    return 2.0 * float(np.log(FLAT_LOG_SD / _spread(case)))


def _noise(case: LevelCase) -> float:
    elsewhere = case.signs.log_sd_elsewhere
    return 0.8 * float(np.log(elsewhere / _spread(case))) if elsewhere > 0 else float("nan")


def _elasticity(case: LevelCase) -> float:
    ratio = case.signs.elasticity
    return 1.5 * float(np.log(INELASTIC / max(ratio, 1e-9)))


def _persistence(case: LevelCase) -> float:
    lasting = 0.8 * float(np.log(max(case.signs.minutes, case.signs.samples) / HELD_MINUTES))
    # An application can be steady for days; only at a documented number is time strong evidence.
    return min(lasting, 1.6 if case.is_numbered else 0.5)


def _recurrence(case: LevelCase) -> float:
    # The logarithm, because each further visit of one day is less independent evidence.
    return 0.3 * float(np.log(case.signs.run_count))


def _cliff(case: LevelCase) -> float:
    above = min(8.0 * case.signs.pressed_above_ratio, 5.0)
    below = float(np.clip(2.5 * (case.signs.pressed_below_ratio - PARTLY_BELOW), 0.0, 3.0))
    return -above - below


def _exceeded(case: LevelCase) -> float:
    free = min(3.0 * case.signs.free_above_ratio, 5.0)
    if case.is_numbered:
        return -0.4 * free
    return -max(free, min(3.0 * case.signs.above_ratio, 5.0))


def _entry(case: LevelCase) -> float:
    if case.is_numbered:
        return 0.0
    as_bucket = case.signs.entered_from_above * (1 - case.signs.left_upwards)
    return -0.6 * as_bucket * _exceeded(case)


def _balance(case: LevelCase) -> float:
    row = case.best.ceiling
    # An empty balance is proof without a documented number.
    alone = 2.0 if is_proven(case) and not case.is_numbered else 0.0
    if row is None:
        return alone + (2.0 if _some_empty(case) else 0.0)
    view = case.balances.get(row.balance_metric) if row.balance_metric else None
    if view is None:
        return 0.0
    if row.bucket_phase == Phase.BASELINE:
        return alone + (2.5 if view.is_empty else -1.0)
    if row.bucket_phase == Phase.BURST:
        return 0.8 if view.change_per_s < 0 else -0.5
    return 0.0


def _credits(case: LevelCase) -> float:
    row = case.best.ceiling
    if row is None or row.balance_metric in case.balances:
        return 0.0
    return 1.0 if case.credits.credits == Credits.SHOWN else 0.0


def _some_empty(case: LevelCase) -> bool:
    """Return whether a balance of this dimension was at zero all the time; for levels without a number."""
    views = [case.balances[m] for m in balance_metrics(case.dimension) if m in case.balances]
    return any(view.is_empty and view.high <= EMPTY_RATIO for view in views)


def _cpu(case: LevelCase) -> float:
    signs = case.signs
    if not signs.cpu_ratio >= CPU_BOUND_RATIO or case.documented >= 0.5:
        return 0.0
    # A busy CPU keeps a rate constant, but it does not make storage slow.
    return -3.0 * float(np.clip(1 - (np.nan_to_num(signs.log_excess) - 0.7) / 1.5, 0, 1))


STEADINESS = ("flatness", "noise", "elasticity", "persistence", "recurrence")
"""Signs of steadiness; together they add at most STEADY_MAX."""
WAITING = ("waiting", "waited_share")
"""Signs of waiting; where the balance was empty they take at most 1 together."""

SIGNS: tuple[Sign, ...] = (
    Sign(
        name="match",
        behind="the level is a number that AWS documents for this class or volume, now or as a legacy limit",
        otherwise="a limiter of the application is seldom set to such a number",
        low=0.0,
        high=4.5,
        why="a dozen numbers, each 1 % wide, cover some 4 % of the possible levels: 25 to 1;"
        " in addition, a level near a number is more often a ceiling",
        weigh=_match,
        text_of=words.match_text,
    ),
    Sign(
        name="waiting",
        behind="requests take much longer than when nothing waits",
        otherwise="a steady producer causes no queue",
        low=-6.0,
        high=WAITED_MAX,
        why="a ceiling that delays no request is no ceiling, so missing waiting weighs most; requests also wait"
        " on slow storage, so waiting is worth 12 to 1 at most; with fewer than eight samples, requests must"
        " have waited in each, because a few samples may be at a number by chance",
        weigh=_waiting,
        text_of=words.waiting_text,
        is_of_stretch=True,
    ),
    Sign(
        name="step",
        behind="requests take longer at the level than a little below it in the same hours",
        otherwise="latency grows gradually with load",
        low=0.0,
        high=WAITED_MAX,
        why="where the reference is from other hours or missing, the same work under nearly the same load is a"
        " better one; `waiting` then subtracts nothing, and both together add at most what `waiting` alone"
        " could",
        weigh=_step,
        text_of=words.step_text,
    ),
    Sign(
        name="waited_share",
        behind="requests wait nearly every time the rate is at the level",
        otherwise="at other times the same rate is served without waiting",
        low=-5.0,
        high=1.0,
        why="a rate that is served without waiting for half of the time is no ceiling; where the window never"
        " shows unpressed storage, nothing is subtracted",
        weigh=_waited_share,
        text_of=words.waited_share_text,
    ),
    Sign(
        name="balance",
        behind="a baseline binds at an empty balance, a burst while the balance falls",
        otherwise="a balance that is not empty is evidence against a baseline",
        low=-1.0,
        high=4.5,
        why="an empty balance at the baseline is the mechanism itself, and replaces waiting and a documented"
        " number; the metric is rounded and covers five minutes, so it is not certain",
        weigh=_balance,
        text_of=words.balance_text,
    ),
    Sign(
        name="credits",
        behind="the throughput until then emptied the bucket, even if it was full at first",
        otherwise="the bucket has credits left, which rules a baseline out",
        low=0.0,
        high=1.0,
        why="an empty bucket is the mechanism, but here it is calculated, and its capacity is not"
        " published; this sign counts only where the balance metric is missing",
        weigh=_credits,
        text_of=words.credits_text,
    ),
    Sign(
        name="flatness",
        behind="the rate varies by a few tenths of a percent",
        otherwise="workloads vary by percents",
        low=-4.0,
        high=2.0,
        why="an enforced rate never varies by percents; other limiters are as flat",
        weigh=_flatness,
        text_of=words.flatness_text,
    ),
    Sign(
        name="noise",
        behind="the rate varies much less than the same workload does at other times",
        otherwise="a steady workload is steady at all times",
        low=-1.5,
        high=1.5,
        why="other hours may have other work, so it counts for less than the spread itself",
        weigh=_noise,
        text_of=words.noise_text,
    ),
    Sign(
        name="elasticity",
        behind="waiting varies, and the rate does not",
        otherwise="a storage fault under a fixed number of clients changes both",
        low=-3.0,
        high=2.0,
        why="it distinguishes a limit from slow storage, which no other sign does",
        weigh=_elasticity,
        text_of=words.elasticity_text,
    ),
    Sign(
        name="persistence",
        behind="the rate stays at the level for a long time",
        otherwise="a rate does not stay constant for hours by chance",
        low=-1.0,
        high=1.6,
        why="producers are steady for days too, so beyond 40 minutes it counts only at a documented number",
        weigh=_persistence,
        text_of=words.persistence_text,
    ),
    Sign(
        name="recurrence",
        behind="the same level is reached again and again",
        otherwise="a rate does not return to one number by chance",
        low=0.0,
        high=0.3 * float(np.log(4)),
        why="the stretches of one day are not independent",
        weigh=_recurrence,
        text_of=words.recurrence_text,
    ),
    Sign(
        name="cliff",
        behind="pressed time is at the level, and hardly any is just above or below",
        otherwise="a busy hour spreads to both sides",
        low=-8.0,
        high=0.0,
        why="nothing exceeds an enforced rate: as much pressed time just above as at the level rules"
        " it out (up to 5); minutes that were partly at the ceiling have lower rates, so pressed time below"
        " counts less (up to 3)",
        weigh=_cliff,
        text_of=words.cliff_text,
    ),
    Sign(
        name="exceeded",
        behind="the rate is never higher, except on credits",
        otherwise="the same workload gets a higher rate at other times",
        low=-5.0,
        high=0.0,
        why="it extends the cliff to all of the window in which the limit may have been the same; documented"
        " numbers lose 2 at most, because class, storage and credits may have differed then",
        weigh=_exceeded,
        text_of=words.exceeded_text,
    ),
    Sign(
        name="entry",
        behind="entered from above when credits run out, and left downwards",
        otherwise="when a fault ends, the rate jumps back up",
        low=0.0,
        high=3.0,
        why="it cancels six tenths of what `exceeded` subtracts: an unknown limit may have credits too",
        weigh=_entry,
        text_of=words.entry_text,
    ),
    Sign(
        name="cpu",
        behind="the CPU has idle time",
        otherwise="a CPU that is fully busy keeps the rate constant",
        low=-3.0,
        high=0.0,
        why="a busy CPU explains a flat rate but no slow storage, so this sign weighs less the longer requests"
        " wait, and nothing at a documented number",
        weigh=_cpu,
        text_of=words.cpu_text,
    ),
)
CONTEXT = ("io_size", "sessions")
"""Kinds of evidence that are reported without a weight."""
