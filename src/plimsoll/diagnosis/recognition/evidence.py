"""
The sentences below a claim: the evidence, the limits ruled out, and what would show it to be wrong.

Every sentence has its number, unit and comparison. Every claim rests on a measurement.
"""

from dataclasses import replace

import numpy as np

from plimsoll.diagnosis.recognition.binding import ENFORCED_LOG_CENTRE, ENFORCED_LOG_SD
from plimsoll.diagnosis.recognition.credits import Credits
from plimsoll.diagnosis.recognition.plateau import Plateau
from plimsoll.diagnosis.recognition.rate_words import format_rate
from plimsoll.diagnosis.recognition.score import SIGNS, Sign, is_proven
from plimsoll.diagnosis.recognition.sign_words import balance_text, one_balance_text
from plimsoll.diagnosis.recognition.signs import LevelCase, Stretch
from plimsoll.model.ceiling import Ceiling, Dimension, Phase
from plimsoll.model.contained import guarded
from plimsoll.model.diagnosis import Evidence, RuledOut
from plimsoll.model.family import RATE_FAMILIES
from plimsoll.model.metric import METRICS
from plimsoll.model.series import BoolArray, FloatArray
from plimsoll.units import format_bytes, format_ratio, number

AGAINST = "this is evidence against a limit"
# A sign of less moves the chance of a ceiling by less than one percent.
LEAST_WEIGHT = 0.03


def evidence_of(plateau: Plateau, stretch: Stretch, shared: tuple[Evidence, ...] | None = None) -> tuple[Evidence, ...]:
    """
    Return every sign with a weight in this claim, for and against, the heaviest first.

    Args:
        plateau: the level, its explanation and the weights of its signs.
        stretch: measurements of the requests during the interval.
        shared: what `shared_evidence_of` returned, if that is known.
    """
    same = {e.kind: e for e in (shared_evidence_of(plateau) if shared is None else shared)}
    case = replace(plateau.case, stretch=stretch)
    found = [same.get(sign.name) or _of_sign(sign, case, plateau.weights[sign.name]) for sign in _weighed(plateau)]
    return tuple(sorted(found, key=lambda e: -abs(e.weight or 0.0)))


def shared_evidence_of(plateau: Plateau) -> tuple[Evidence, ...]:
    """Return the signs with a weight whose sentences are the same for all stretches of the level."""
    return tuple(
        _of_sign(sign, plateau.case, plateau.weights[sign.name]) for sign in _weighed(plateau) if not sign.is_of_stretch
    )


def _weighed(plateau: Plateau) -> list[Sign]:
    return [s for s in SIGNS if abs(plateau.weights.get(s.name, 0.0)) >= LEAST_WEIGHT]


def _of_sign(sign: Sign, case: LevelCase, weight: float) -> Evidence:
    part = f"the sentence about the sign '{sign.name}'"
    lost = _evidence(sign.name, f"the sign '{sign.name}', in no words", weight=weight)
    return guarded(part, lambda: _said(sign, case, weight), lost)


def _said(sign: Sign, case: LevelCase, weight: float) -> Evidence:
    shown = sign.text_of(case)
    text = shown.text if weight > 0 else f"{shown.text}; {AGAINST}"
    return _evidence(sign.name, text, shown.value, shown.reference, weight)


def size_evidence_of(stretch: Stretch) -> tuple[Evidence, ...]:
    """Return the I/O size during one stretch, as evidence without weight."""
    if stretch.io_size_bytes is None:
        return ()
    text = f"an I/O was {format_bytes(stretch.io_size_bytes)} on average"
    return (_evidence("io_size", text, stretch.io_size_bytes),)


def context_evidence_of(plateau: Plateau, other_rate: FloatArray) -> tuple[Evidence, ...]:
    """
    Return evidence without weight that is the same for all stretches: other limits, their balances.

    Args:
        plateau: the level and its explanation.
        other_rate: the other rate during those stretches (ops/s for a throughput plateau).
    """
    found = _same_in_both(plateau, other_rate)
    if plateau.case.credits.credits == Credits.FROM_START and not is_proven(plateau.case):
        found.append(_evidence("credits", plateau.case.credits.text))
    weighed = abs(plateau.weights.get("balance", 0.0)) >= LEAST_WEIGHT
    # The balance that is part of the score is in the list of signs already.
    listed = balance_text(plateau.case).text if weighed else ""
    for metric in sorted(plateau.balances):
        shown = one_balance_text(plateau.case, metric)
        if shown.text != listed:
            found.append(_evidence("balance", shown.text, shown.value))
    return tuple(found)


def _same_in_both(plateau: Plateau, other_rate: FloatArray) -> list[Evidence]:
    """Return a remark if the I/O size was constant, so that the limit may be of the other dimension."""
    known = other_rate[np.isfinite(other_rate) & (other_rate > 0)]
    if plateau.best.ceiling is not None or known.size < 3:
        return []
    centre = float(np.median(known))
    # Both rates are constant only if the I/O size is; then the other one varies as little as the level.
    spread = 1.4826 * float(np.median(np.abs(np.log(known / centre))))
    if spread > 1.5 * plateau.signs.log_sd + 0.001:
        return []
    is_bytes = plateau.dimension == Dimension.THROUGHPUT
    other = Dimension.IOPS if is_bytes else Dimension.THROUGHPUT
    text = f"the I/O size hardly varied: a limit of {format_rate(centre, other)} would look the same"
    return [_evidence("io_size", text, centre)]


def sessions_evidence_of(sessions: tuple[FloatArray, FloatArray] | None, held: BoolArray) -> tuple[Evidence, ...]:
    """
    Return the number of database sessions that waited for I/O at the level, as evidence.

    Args:
        sessions: active ones, and those of them that waited for I/O, per sample; None if not known.
        held: samples at the level, shape (n,).
    """
    if sessions is None:
        return ()
    active, waiting = sessions
    known = np.isfinite(active) & np.isfinite(waiting)
    if not (known & held).any():
        return ()
    text = (
        f"{number(float(waiting[known & held].mean()), 2)} of "
        f"{number(float(active[known & held].mean()), 2)} active sessions waited for I/O"
    )
    rest = known & ~held
    usual = float(waiting[rest].mean()) if rest.any() else None
    if usual is not None:
        text += f", {number(usual, 2)} at other times"
    return (_evidence("sessions", text, float(waiting[known & held].mean()), usual),)


def ruled_out_of(plateau: Plateau, ceilings: tuple[Ceiling, ...], *, other_rate: float | None) -> tuple[RuledOut, ...]:
    """
    Return the other documented storage limits, each with the reason why it does not explain the level.

    Args:
        plateau: the level and its explanation.
        ceilings: all ceilings of the instance.
        other_rate: median rate of the other dimension at the level (ops/s for a throughput plateau).
    """
    best = plateau.best.ceiling
    found = []
    for row in ceilings:
        if row.family not in RATE_FAMILIES or row == best:
            continue
        if row.dimension == plateau.dimension:
            reason = _same_dimension(plateau, row)
        else:
            reason = _other_dimension(row, other_rate)
        if reason:
            found.append(RuledOut(ceiling=row, reason=reason))
    return tuple(found)


def _same_dimension(plateau: Plateau, row: Ceiling) -> str:
    by_credits = next((text for refuted, text in plateau.case.refuted if refuted == row), "")
    if by_credits:
        return by_credits
    ratio = plateau.level / row.value
    view = plateau.balances.get(row.balance_metric) if row.balance_metric else None
    name = METRICS[row.balance_metric].cloudwatch if row.balance_metric else ""
    # As far from the enforced number as a match may be (MATCH_Z_MAX in binding.py).
    if ratio < np.exp(ENFORCED_LOG_CENTRE - 2.7 * ENFORCED_LOG_SD):
        return f"the level is only {format_ratio(ratio)} of this limit"
    if ratio > np.exp(ENFORCED_LOG_CENTRE + 2.7 * ENFORCED_LOG_SD):
        if row.bucket_phase == Phase.BASELINE and view is not None and not view.is_empty:
            return f"exceeded by {format_ratio(ratio - 1)} on credits ({name} was not at 0 %)"
        return f"the level is {format_ratio(ratio - 1)} above this limit, so it is not enforced here"
    if view is not None and row.bucket_phase == Phase.BASELINE and not view.is_empty:
        return f"it binds only at 0 % credits, and {name} stayed at {format_ratio(view.low)} or more"
    if view is not None and row.bucket_phase == Phase.BURST and view.is_empty:
        return f"it needs credits, and {name} was at 0 %"
    others = {m.ceiling: m.probability for m in plateau.matches if m.ceiling is not None}
    if row in others:
        return f"possible, but less likely ({format_ratio(others[row])})"
    return "it has the same number, but the named limit explains the credits better"


def _other_dimension(row: Ceiling, other_rate: float | None) -> str:
    if other_rate is None or not np.isfinite(other_rate):
        return ""
    ratio = other_rate / row.value
    seen = format_rate(other_rate, row.dimension)
    # The median of a rate that is not at a level is known to about three percent.
    if ratio < 0.97:
        return f"{seen} were served, only {format_ratio(ratio)} of this limit"
    if ratio > 1.03:
        return f"{seen} were served, above this limit"
    return f"{seen} were served, at this limit, but that rate varied more than the named level"


def refuted_by(plateau: Plateau) -> str:
    """Return the clause that completes `We would be wrong if …`."""
    best = plateau.best.ceiling
    rate = format_rate(plateau.level, plateau.dimension)
    if best is None:
        return (
            f"more than {rate} were served for minutes in this part of the window, or if latency stayed "
            "high after demand fell (then storage is at fault, and no limit)"
        )
    if best.bucket_phase == Phase.BASELINE and best.balance_metric is not None:
        name = METRICS[best.balance_metric].cloudwatch
        return f"{name} stayed well above 0 % at {rate}"
    if best.bucket_phase == Phase.BURST:
        return f"more than {rate} were served for minutes with credits left"
    return f"more than {rate} were served for minutes with the same class and storage"


def _evidence(
    kind: str, text: str, value: float | None = None, reference: float | None = None, weight: float = 0.0
) -> Evidence:
    return Evidence(
        kind=kind,
        text=text,
        weight=round(weight, 2),
        value=None if value is None else float(value),
        reference=None if reference is None else float(reference),
    )


PERMISSION = "export it, or allow cloudwatch:GetMetricData for the role that reads"
