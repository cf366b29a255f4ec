"""
What each sign is worth, and the sum: how probable it is that a level is a ceiling.

Theory. Seven things hold behind a ceiling and are seldom all true elsewhere:
  waiting      requests wait (the necessary sign; steady demand alone does not make a queue);
  flatness     the served rate varies less than the workload's own noise;
  inelastic    waiting varies while the rate does not (a fault under closed-loop clients moves both);
  cliff        nothing is served above it without credits, and the level is never met without waiting;
  credits      a baseline binds with an empty balance, a burst while one falls;
  number       the level is one that AWS documents, now or formerly;
  persistence  it is held long, or again and again.
Each sign adds a log-likelihood ratio. The weights are judgements of how strong each sign is on
physical grounds, checked on simulated incidents (bench/score.py, tuning seeds only); what each can
add or take is bounded, so that no single one decides.
"""

import numpy as np

from plimsoll.diagnosis.binding import EMPTY_RATIO, BalanceView, Match
from plimsoll.diagnosis.signs import Signs
from plimsoll.model.ceiling import Dimension, Phase
from plimsoll.model.family import balance_metrics
from plimsoll.model.metric import Metric

CPU_BOUND_RATIO = 0.93
# What steadiness of any kind can add at most.
STEADY_MAX = 4.0


def score_of(
    signs: Signs,
    matches: tuple[Match, ...],
    balances: dict[Metric, BalanceView],
    dimension: Dimension,
    *,
    has_catalog: bool,
) -> float:
    """
    The sum of what each sign is worth, in nats; 0 is even odds.

    Missing signs add nothing, except waiting: without latency and queue only an empty balance or a
    documented number carries the claim.
    """
    best = matches[0]
    documented = 1 - sum(m.probability for m in matches if m.ceiling is None)
    # Flatness: what an enforced rate shows is well under one percent. Of a few samples the spread
    # says little, so it is drawn towards what is usual, as if four more had been seen.
    spread = float(np.sqrt((signs.samples * signs.log_sd**2 + 4 * 0.006**2) / (signs.samples + 4)))
    steady = float(np.clip(2.0 * np.log(0.008 / spread), -4.0, 2.0))
    if np.isfinite(signs.log_sd_elsewhere) and signs.log_sd_elsewhere > 0:
        steady += float(np.clip(0.8 * np.log(signs.log_sd_elsewhere / spread), -1.5, 1.5))
    if np.isfinite(signs.elasticity):
        steady += float(np.clip(1.5 * np.log(0.06 / signs.elasticity), -3.0, 2.0))
    # A producer is steady for days; only at a documented number does time speak for a ceiling.
    lasting = float(np.log(max(signs.minutes, signs.samples) / 20))
    steady += float(np.clip(0.8 * lasting, -1.0, 1.6 if documented > 0.5 else 0.5))
    steady += 0.3 * float(np.log(min(signs.run_count, 4)))
    if steady > 0:
        steady *= signs.samples / (signs.samples + 3)
    # However steady, a producer with a limit of its own is as steady as a ceiling.
    is_proven = _credits_prove(best, balances, dimension)
    score = min(steady, STEADY_MAX) - (2.0 if documented > 0.5 or is_proven else 4.0)
    # Cliff: pressed samples stand at the level, not around it.
    score -= float(np.clip(8.0 * signs.pressed_above_ratio, 0.0, 5.0))
    score -= float(np.clip(2.5 * (signs.pressed_below_ratio - 0.1), 0.0, 3.0))
    score -= _exceeded_score(signs, documented)
    score += _waiting_score(signs, documented, is_proven=is_proven)
    # Where no number is known at all, an unnumbered level is what one expects of a ceiling.
    expected = 1.8 if np.isfinite(signs.log_excess) else 0.0
    score += 2.5 * documented if has_catalog else expected
    score += _credit_score(best, balances, dimension)
    if signs.cpu_ratio >= CPU_BOUND_RATIO and documented < 0.5:
        # A busy CPU makes a rate stand still, but it does not make storage slow.
        score -= 3.0 * float(np.clip(1 - (np.nan_to_num(signs.log_excess) - 0.7) / 1.5, 0, 1))
    return score


def _exceeded_score(signs: Signs, documented: float) -> float:
    """
    What speaks against a level above which more was served.

    A limit without credits is never exceeded. With credits it is, but then the level is entered from
    above, when they run out, and left downwards: after hours at a baseline there is nothing to
    spend. A fault ends the other way, with the demand jumping back.
    """
    free = float(np.clip(3.0 * signs.free_above_ratio, 0.0, 5.0))
    if documented > 0.5:
        return 0.4 * free
    as_bucket = signs.entered_from_above * (1 - signs.left_upwards)
    exceeded = float(np.clip(3.0 * signs.above_ratio, 0.0, 5.0))
    return max(free, exceeded) * (1 - 0.6 * as_bucket)


def _credits_prove(best: Match, balances: dict[Metric, BalanceView], dimension: Dimension) -> bool:
    """Whether the balance that counts for the level was empty while it was held."""
    row = best.ceiling
    if row is None:
        return _some_empty(balances, dimension)
    if row.balance_metric is None or row.bucket_phase != Phase.BASELINE:
        return False
    view = balances.get(row.balance_metric)
    return view is not None and view.is_empty


def _some_empty(balances: dict[Metric, BalanceView], dimension: Dimension) -> bool:
    """Whether a balance of this dimension was at zero all the time; for levels without a number."""
    views = [balances[metric] for metric in balance_metrics(dimension) if metric in balances]
    return any(view.is_empty and view.high <= EMPTY_RATIO for view in views)


def _waiting_score(signs: Signs, documented: float, *, is_proven: bool) -> float:
    """What waiting adds; its absence speaks against everything but an empty balance."""
    if not np.isfinite(signs.log_excess):
        return -1.5
    if documented > 0.5:
        # A third longer than unpressed is within the error of the reference; less is no waiting. A
        # general reference may be off by more.
        over = signs.log_excess - (0.3 if signs.is_reference_seen else 0.7)
        excess, share_max = (4.0 if over > 0 else 12.0) * over, 1.0
    elif signs.is_reference_seen:
        # No number vouches for the level, so requests must clearly have waited.
        excess, share_max = 4.0 * (signs.log_excess - np.log(2.2)), 0.0
    else:
        # The storage was never seen unpressed: while it may simply be slow, nothing is shown by
        # less than what no SSD volume needs.
        excess, share_max = 4.0 * (signs.log_excess - np.log(8.0)), 0.0
    excess = float(np.clip(excess, -6.0, 2.5))
    waited = float(np.nan_to_num(signs.waited_share, nan=0.85))
    share = float(np.clip(8.0 * (waited - 0.85), -5.0, share_max))
    return max(excess + share, -1.0) if is_proven else excess + share


def _credit_score(best: Match, balances: dict[Metric, BalanceView], dimension: Dimension) -> float:
    row = best.ceiling
    if row is not None and row.balance_metric is not None:
        view = balances.get(row.balance_metric)
        if view is not None and row.bucket_phase == Phase.BASELINE:
            return 2.5 if view.is_empty else -1.0
        if view is not None and row.bucket_phase == Phase.BURST:
            return 0.8 if view.change_per_s < 0 else -0.5
        return 0.0
    return 2.0 if _some_empty(balances, dimension) else 0.0
