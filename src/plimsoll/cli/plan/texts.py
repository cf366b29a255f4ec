"""Parse the constraints of a plan: `1%`, `2x`, `$12.50`, `short-window`."""

import re
from collections.abc import Sequence
from decimal import Decimal

from msgspec import structs

from plimsoll.app.plan import SHORT_WINDOW
from plimsoll.errors import UsageError
from plimsoll.model.plan import PlanConstraints
from plimsoll.model.price import LICENSES
from plimsoll.model.prior import Prior

# A judgement: a larger share is likely an availability target, 99%, given instead of the allowed 1%.
_ALLOWED_MAX = Decimal("0.5")
# A judgement: no instance family covers a hundred times the load, so a larger factor is a typing error.
_GROWTH_MAX = 100
_NUMBER = r"[0-9]{1,9}(?:\.[0-9]{1,6})?"

# Name in --prior, field, smallest and largest value. An overload of 1 or less would be no overload;
# weights count only in relation to each other.
_PRIORS = {
    "median": ("overload_median", 1.01, 10.0),
    "spread": ("overload_log_sd", 0.01, 3.0),
    "lost": ("lost", 0.0, 100.0),
    "job": ("job", 0.0, 100.0),
    "clients": ("clients", 0.0, 100.0),
    "greedy": ("greedy", 0.0, 100.0),
}


def allowed_ratio_of(text: str) -> float:
    """
    Return the share of minutes that may be spent at a ceiling, 0–0.5, of `1%` or `0.01`.

    Raises:
        UsageError: not such a share.
    """
    ratio = _share(text, "--slo", "1% or 0.01")
    if ratio > _ALLOWED_MAX:
        raise UsageError(
            f"--slo '{text}' would allow more than half of all minutes at a ceiling",
            "Give the share of minutes at a ceiling: 1% to keep 99% below it.",
        )
    return float(ratio)


def factor_of(discount: str) -> Decimal:
    """
    Return the factor of a price for a discount, 0 < x ≤ 1: 0.8 for `20%` or `0.2`.

    Raises:
        UsageError: not a share below one.
    """
    return 1 - _share(discount, "--discount", "20% or 0.2")


def growth_of(text: str) -> float:
    """
    Return the factor of demand: 2 for `2x` or `2`.

    Raises:
        UsageError: not a factor above zero, or above a hundred.
    """
    found = re.fullmatch(rf"({_NUMBER}) ?x?", text.strip().lower())
    growth = float(found[1]) if found else 0.0
    if not 0 < growth <= _GROWTH_MAX:
        raise UsageError(
            f"--growth '{text}' is not a factor between 0 and {_GROWTH_MAX}",
            "Write it as 2x for twice the demand, or 1.5x for half as much again.",
        )
    return growth


def prior_of(texts: Sequence[str]) -> Prior:
    """
    Return the assumptions about unseen demand, of `median=1.4` or `lost=0.5,greedy=0`.

    Raises:
        UsageError: not an assumption, or a value out of range.
    """
    given: dict[str, float] = {}
    for part in ",".join(texts).split(",") if texts else ():
        name, sign, value = (text.strip().lower() for text in part.partition("="))
        if name not in _PRIORS or not sign or not re.fullmatch(_NUMBER, value):
            raise UsageError(
                f"--prior '{part.strip()}' is not NAME=VALUE",
                f"Write it as median=1.5; the names are {', '.join(_PRIORS)}.",
            )
        field, low, high = _PRIORS[name]
        given[field] = float(value)
        if not low <= given[field] <= high:
            raise UsageError(
                f"--prior '{part.strip()}' is not between {low:g} and {high:g}",
                "'plimsoll docs how-demand-is-recovered' explains each assumption.",
            )
    prior = structs.replace(Prior(), **given)
    if not prior.lost + prior.job + prior.clients + prior.greedy:
        raise UsageError(
            "--prior gives lost, job, clients and greedy no weight", "Give at least one of them a weight above zero."
        )
    return prior


def usd_of(text: str) -> Decimal:
    """
    Return US dollars of `12.50` or `$12.50`.

    Raises:
        UsageError: not an amount above zero.
    """
    found = re.fullmatch(rf"\$? ?({_NUMBER})", text.strip())
    amount = Decimal(found[1]) if found else Decimal(0)
    if not amount:
        raise UsageError(f"--max-usd-per-day '{text}' is not an amount of US dollars", "Write it as 12.50.")
    return amount


def license_of(text: str | None) -> str | None:
    """
    Return the licence model as AWS writes it; None if none is given.

    Raises:
        UsageError: AWS has no such licence model.
    """
    model = None if text is None else text.strip().lower()
    if model is not None and model not in LICENSES:
        raise UsageError(f"--license '{text}' is not a license that RDS has", f"Use one of {', '.join(LICENSES)}.")
    return model


def split_permissions(allow: Sequence[str]) -> tuple[tuple[str, ...], bool]:
    """Return the patterns, and whether a short window is permitted."""
    kept = tuple(one for one in allow if one.strip().lower() != SHORT_WINDOW)
    return kept, len(kept) < len(allow)


def check_constraints(constraints: PlanConstraints) -> None:
    """
    Refuse constraints that leave nothing to propose, before anything is read.

    Raises:
        UsageError: class and storage are both kept.
    """
    if constraints.keep_class and constraints.keep_storage:
        raise UsageError("--keep-class and --keep-storage together leave nothing to change", "Leave one of them out.")


def _share(text: str, option: str, example: str) -> Decimal:
    """Return a share 0 ≤ x < 1."""
    found = re.fullmatch(rf"({_NUMBER}) ?(%?)", text.strip())
    ratio = Decimal(found[1]) / (100 if found[2] else 1) if found else Decimal(1)
    if ratio >= 1:
        raise UsageError(f"{option} '{text}' is not a share between 0 and 1", f"Write it as {example}.")
    return ratio
