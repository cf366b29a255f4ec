"""What the way past must keep to, as people write it: `1%`, `2x`, `$12.50`, `short-window`."""

import re
from collections.abc import Sequence
from decimal import Decimal

from msgspec import structs

from plimsoll.errors import DataError, UsageError
from plimsoll.model.instance import Instance, engine_family
from plimsoll.model.plan import Wishes
from plimsoll.model.price import LICENSES
from plimsoll.model.prior import Prior
from plimsoll.model.snapshot import Snapshot
from plimsoll.units import format_duration

SHORT_WINDOW = "short-window"
"""Permits a window of less than a day; it is no pattern of what may be proposed."""

_DAY_S = 86_400
# A day that is asked for up to now ends before the samples that are not there yet: those of basic
# monitoring come every five minutes and some minutes late, those of a scrape after a restart later.
_DAY_SHOWN = 0.95
# A target for availability, such as 99 %, is easily given in place of what may be missed of it.
_ALLOWED_MAX = Decimal("0.5")
# Nobody plans for a hundred times the load with the same instance family; it is a slip of the keys.
_GROWTH_MAX = 100
_NUMBER = r"[0-9]{1,9}(?:\.[0-9]{1,6})?"

# What --prior names, its field, and the least and most that it may be: an overload that is no more
# than one is no overload, and weights are compared with each other.
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
    The share of minutes that may be spent at a ceiling, 0–0.5, of `1%` or `0.01`.

    Raises:
        UsageError: not such a share.
    """
    ratio = _share(text, "--slo", "1% or 0.01")
    if ratio > _ALLOWED_MAX:
        raise UsageError(
            f"--slo '{text}' would allow more than half of all minutes at a ceiling",
            "Give the share that may be spent at one: 1% where 99% are to be free.",
        )
    return float(ratio)


def factor_of(discount: str) -> Decimal:
    """
    What a price is multiplied with, 0 < x ≤ 1: 0.8 for a discount of `20%` or `0.2`.

    Raises:
        UsageError: not a share below one.
    """
    return 1 - _share(discount, "--discount", "20% or 0.2")


def growth_of(text: str) -> float:
    """
    What demand is multiplied with: 2 for `2x` or `2`.

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
    What is assumed of demand that nobody saw, of `median=1.4` or `lost=0.5,greedy=0`.

    Raises:
        UsageError: not such an assumption, or a value that cannot be.
    """
    given: dict[str, float] = {}
    for part in ",".join(texts).split(",") if texts else ():
        name, sign, value = (text.strip().lower() for text in part.partition("="))
        if name not in _PRIORS or not sign or not re.fullmatch(_NUMBER, value):
            raise UsageError(
                f"--prior '{part.strip()}' is not an assumption with its value",
                f"Write it as median=1.5; there are {', '.join(_PRIORS)}.",
            )
        field, low, high = _PRIORS[name]
        given[field] = float(value)
        if not low <= given[field] <= high:
            raise UsageError(
                f"--prior '{part.strip()}' is not between {low:g} and {high:g}",
                "docs/concepts/how-demand-is-recovered.md says what each of them means.",
            )
    prior = structs.replace(Prior(), **given)
    if not prior.lost + prior.job + prior.clients + prior.greedy:
        raise UsageError(
            "--prior leaves nothing that a load may do with delayed requests",
            "Give one of lost, job, clients and greedy a weight above zero.",
        )
    return prior


def usd_of(text: str) -> Decimal:
    """
    US dollars of `12.50` or `$12.50`.

    Raises:
        UsageError: not an amount above zero.
    """
    found = re.fullmatch(rf"\$? ?({_NUMBER})", text.strip())
    amount = Decimal(found[1]) if found else Decimal(0)
    if not amount:
        raise UsageError(
            f"--max-usd-per-day '{text}' is not an amount of US dollars", "Write it as 12.50."
        )
    return amount


def license_of(text: str | None) -> str | None:
    """
    The licence as AWS writes it; None where none is said.

    Raises:
        UsageError: AWS knows no such licence.
    """
    said = None if text is None else text.strip().lower()
    if said is not None and said not in LICENSES:
        raise UsageError(
            f"--license '{text}' is not a license that RDS has",
            f"Use one of {', '.join(LICENSES)}.",
        )
    return said


def split_permissions(allow: Sequence[str]) -> tuple[tuple[str, ...], bool]:
    """The patterns, and whether a short window is permitted."""
    kept = tuple(one for one in allow if one.strip().lower() != SHORT_WINDOW)
    return kept, len(kept) < len(allow)


def check_wishes(wishes: Wishes) -> None:
    """
    Refuse what leaves nothing to propose, before anything is read.

    Raises:
        UsageError: class and storage are both kept.
    """
    if wishes.keep_class and wishes.keep_storage:
        raise UsageError(
            "--keep-class and --keep-storage together leave nothing to change",
            "Leave one of them out.",
        )


def check_window(snapshot: Snapshot, *, is_short_allowed: bool) -> None:
    """
    Refuse a window that does not show a day: what is asked for at other hours is not in it.

    Raises:
        DataError: it is shorter than a day.
    """
    start_s, end_s = snapshot.window_s or (0, 0)
    if is_short_allowed or shows_a_day(snapshot):
        return
    raise DataError(
        f"the window of {format_duration(end_s - start_s)} is shorter than a day, so the demand of "
        "other hours is not known",
        "Give a longer one, for example --last 14d; 'plimsoll plan' takes "
        f"--allow {SHORT_WINDOW} to plan for these hours alone.",
    )


def shows_a_day(snapshot: Snapshot) -> bool:
    """Return whether a window shows a day, up to samples that came late."""
    start_s, end_s = snapshot.window_s or (0, 0)
    return end_s - start_s >= _DAY_SHOWN * _DAY_S


def check_instance(instance: Instance, *, has_limits: bool) -> str:
    """
    Refuse an instance that cannot be compared with another; its region otherwise.

    Raises:
        UsageError: class, engine or region is not known, or the class has no documented limits.
    """
    name = instance.identifier
    for what, value, remedy in (
        ("class", instance.db_class, "--class db.r5.2xlarge"),
        ("engine", instance.engine, "--engine postgres"),
        ("region", instance.region, "--region us-east-1"),
    ):
        if not value:
            raise UsageError(
                f"the {what} of '{name}' is not known, so nothing can be compared with it",
                f"Give {remedy}, or --instance with the answer of 'aws rds describe-db-instances'.",
            )
    if engine_family(instance.engine) == "aurora":
        raise UsageError(
            f"'{name}' is Aurora, whose storage has no limits that another class or volume lifts",
            "Plans are made for RDS instances on EBS volumes.",
        )
    if not has_limits:
        raise UsageError(
            f"class '{instance.db_class}' has no documented limits, so its demand cannot be replayed",
            "Check its name with 'plimsoll limits', or read the instance from AWS as rds:NAME.",
        )
    assert instance.region is not None
    return instance.region


def check_license(instance: Instance, licenses: Sequence[str]) -> None:
    """
    Refuse a licence with which the engine is not sold.

    Args:
        instance: with the licence that was said.
        licenses: with which its engine is priced, as `byol` or `none`; empty where not known.

    Raises:
        UsageError: it is none of them.
    """
    if not licenses or LICENSES[instance.license_model or ""] in licenses:
        return
    which = [said for said, short in LICENSES.items() if short in licenses]
    sold = " or ".join(which if "none" not in licenses else ["a license that costs nothing"])
    raise UsageError(
        f"{instance.engine} is not sold with --license {instance.license_model}",
        f"It has {sold}; leave --license out to take what the instance says.",
    )


def _share(text: str, option: str, example: str) -> Decimal:
    """A share 0 ≤ x < 1."""
    found = re.fullmatch(rf"({_NUMBER}) ?(%?)", text.strip())
    ratio = Decimal(found[1]) / (100 if found[2] else 1) if found else Decimal(1)
    if ratio >= 1:
        raise UsageError(
            f"{option} '{text}' is not a share between 0 and 1", f"Write it as {example}."
        )
    return ratio
