"""
The judgement of a level: its signs, its explanations, and the probability that it is a ceiling.

A level is a number at which the rate stayed (level.py). Its signs are measured (signs.py) and weighed
(score.py). Its explanations are documented numbers or none (binding.py). This file combines them.
"""

from dataclasses import dataclass

import numpy as np

from plimsoll.diagnosis.recognition.binding import BalanceView, Match, balance_view, matches_of
from plimsoll.diagnosis.recognition.congestion import Congestion
from plimsoll.diagnosis.recognition.credits import SILENT, CreditAccount, CreditBook, Credits
from plimsoll.diagnosis.recognition.era import era_of
from plimsoll.diagnosis.recognition.level import Level, middle
from plimsoll.diagnosis.recognition.score import STEP_LOG, score_of, weights_of
from plimsoll.diagnosis.recognition.signs import LevelCase, Signs, signs_of
from plimsoll.model.ceiling import Ceiling, Dimension, Phase
from plimsoll.model.family import INSTANCE_FAMILIES, RATE_FAMILIES
from plimsoll.model.metric import Metric
from plimsoll.model.series import BoolArray, FloatArray, IntArray

# The enforced level itself wanders by a third of a percent or so: no error bar is narrower.
LEVEL_LOG_FLOOR = 0.0015
# A number further from the level than this does not explain it.
NEAR_RATIO = 0.03


@dataclass(frozen=True, slots=True, kw_only=True)
class Plateau:
    """A judged level, with the probability that it is a ceiling and the explanations."""

    case: LevelCase
    """Level, signs and explanations."""
    level_log_se: float
    runs: IntArray
    """Stretches at the level, first and one-past-last sample, shape (k, 2)."""
    weights: dict[str, float]
    """What each sign adds or takes, nats."""
    score: float
    """Sum of log-likelihood ratios."""

    @property
    def dimension(self) -> Dimension:
        """Return the dimension of the level's rate."""
        return self.case.dimension

    @property
    def level(self) -> float:
        """Return the level, bytes/s or ops/s."""
        return self.case.level

    @property
    def signs(self) -> Signs:
        """Return the signs of the level."""
        return self.case.signs

    @property
    def balances(self) -> dict[Metric, BalanceView]:
        """Return the balance metrics during the level's stretches."""
        return self.case.balances

    @property
    def matches(self) -> tuple[Match, ...]:
        """Return the explanations of the level, the most probable first."""
        return self.case.matches

    @property
    def probability(self) -> float:
        """Return the probability 0–1 that a ceiling bound here."""
        # The score is a sum of log-likelihood ratios, so this is its logistic function.
        return float(1 / (1 + np.exp(-np.clip(self.score, -30, 30))))

    @property
    def documented(self) -> float:
        """Return the probability 0–1 that the level is a documented number."""
        return self.case.documented

    @property
    def family_probability(self) -> float:
        """Return the probability 0–1 of the best explanation's family, given that a ceiling bound."""
        family = self.best.ceiling.family if self.best.ceiling else None
        of_family = (m.probability for m in self.matches if (m.ceiling.family if m.ceiling else None) == family)
        return float(sum(of_family))

    @property
    def best(self) -> Match:
        """Return the most probable explanation."""
        return self.matches[0]


def judge(level: Level, dimension: Dimension, rate: FloatArray, congestion: Congestion, book: CreditBook) -> Plateau:
    """Return a level with its signs, its explanations and its score."""
    frame, ceilings = book.frame, book.ceilings
    inside = np.zeros(frame.size, dtype=bool)
    for start, end in level.runs:
        inside[start:end] = True
    balances = {}
    for metric, values in frame.balances.items():
        view = balance_view(values, frame.time_s, level.runs)
        if view is not None:
            balances[metric] = view
    log_se = _level_log_se(level, rate, inside)
    refuted = _refuted(level, dimension, balances, book)
    rows = [c for c in ceilings if all(c != row for row, _ in refuted)]
    matches = matches_of(level.value, level_log_se=log_se, dimension=dimension, ceilings=rows, balances=balances)
    signs = signs_of(level, rate, inside, frame, congestion, matches[0])
    # A number of the present class and storage applies to the whole window.
    if matches[0].ceiling is None:
        era = era_of(
            level,
            rate,
            inside,
            frame,
            ceilings,
            dimension,
            has_step=signs.step_log > STEP_LOG,
            elasticity=signs.elasticity,
            excess=congestion.log_excess,
        )
        if not era.all():
            signs = signs_of(level, rate, inside, frame, congestion, matches[0], era=era)
    case = LevelCase(
        level=level.value,
        dimension=dimension,
        signs=signs,
        matches=matches,
        balances=balances,
        refuted=refuted,
        credits=_account(matches[0].ceiling, level, book),
        has_catalog=any(c.family in INSTANCE_FAMILIES and c.dimension == dimension for c in ceilings),
    )
    weights = weights_of(case)
    return Plateau(case=case, level_log_se=log_se, runs=level.runs, weights=weights, score=score_of(weights))


def _refuted(
    level: Level, dimension: Dimension, balances: dict[Metric, BalanceView], book: CreditBook
) -> tuple[tuple[Ceiling, str], ...]:
    """
    Return the documented numbers near the level that the arithmetic of credits excludes, with the reason.

    Where the balance metric was measured, it decides (`credit_factor`), not the arithmetic.
    """
    found = []
    for row in book.ceilings:
        is_near = row.dimension == dimension and abs(level.value / row.value - 1) < NEAR_RATIO
        if not is_near or row.family not in RATE_FAMILIES or row.balance_metric in balances:
            continue
        account = book.account_of(row, level.runs)
        if account.credits == Credits.REFUTED:
            found.append((row, account.text))
    return tuple(found)


def _account(row: Ceiling | None, level: Level, book: CreditBook) -> CreditAccount:
    if row is None or row.bucket_phase != Phase.BASELINE:
        return SILENT
    return book.account_of(row, level.runs)


def _level_log_se(level: Level, rate: FloatArray, inside: BoolArray) -> float:
    """Return the standard error of the median, with neighbouring samples taken as correlated."""
    values = np.log(rate[inside & (rate > 0)])
    values = values[np.abs(values - np.log(level.value)) < level.band_log]
    # Too few samples for a spread: half of the band is taken.
    if values.size < 3:
        return level.band_log / 2
    centred = values - middle(values)
    power = float(np.mean(centred**2))
    related = float(np.mean(centred[1:] * centred[:-1]) / power) if power > 0 else 0.0
    # Samples that follow each other are alike, so they count as fewer (first-order
    # autocorrelation).
    related = float(np.clip(related, 0.0, 0.9))
    effective = max(values.size * (1 - related) / (1 + related), 2.0)
    # The standard error of a median is √(π/2) = 1.253 times that of a mean.
    return float(np.hypot(1.253 * level.log_sd / np.sqrt(effective), LEVEL_LOG_FLOOR))
