"""From a diagnosed snapshot to a plan: what must be known for one, and the catalog's prices."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from plimsoll.app.moments import today
from plimsoll.app.options import ReadOptions
from plimsoll.app.prices import book_of
from plimsoll.app.targets import RDS, is_live
from plimsoll.errors import CatalogError, DataError, UsageError
from plimsoll.model.diagnosis import Diagnosis
from plimsoll.model.instance import Instance, engine_family
from plimsoll.model.plan import Plan, PlanConstraints
from plimsoll.model.price import LICENSES, priced_engine
from plimsoll.model.snapshot import Snapshot
from plimsoll.units import format_duration

if TYPE_CHECKING:
    from plimsoll.catalog.load import Catalog

PLAN_LAST = "14d"
"""Two weeks show the rhythm of a week twice."""
SHORT_WINDOW = "short-window"
"""Permits a window of less than a day; it is no pattern of what may be proposed."""

_DAY_S = 86_400
# A day that is asked for up to now ends before the samples that are not there yet: those of basic
# monitoring come every five minutes and some minutes late, those of a scrape after a restart later.
_DAY_SHOWN = 0.95


def with_two_weeks(target: str, reach: ReadOptions) -> ReadOptions:
    """Read a live target for two weeks, unless a window was asked for."""
    is_asked = reach.last is not None or reach.since is not None
    return reach if is_asked or not is_live(target) else replace(reach, last=PLAN_LAST)


def in_region(snapshot: Snapshot, target: str, reach: ReadOptions) -> Snapshot:
    """Return the snapshot of an instance in the region that `--region` names; AWS knows better than it."""
    if reach.region is None or target.startswith(RDS):
        return snapshot
    return replace(snapshot, instance=replace(snapshot.instance, region=reach.region))


def with_license(snapshot: Snapshot, license_model: str | None) -> Snapshot:
    """
    Return the snapshot of an instance with the licence that is said; None leaves what the source says.

    Raises:
        UsageError: its engine is not sold with such a licence.
    """
    if license_model is None:
        return snapshot
    from plimsoll.catalog.load import catalog

    instance = replace(snapshot.instance, license_model=license_model)
    check_license(instance, catalog().licenses(priced_engine(instance.engine or "")))
    return replace(snapshot, instance=instance)


def plan_snapshot(
    diagnosis: Diagnosis,
    snapshot: Snapshot,
    constraints: PlanConstraints,
    prices: Path | None = None,
) -> Plan:
    """
    Return the way past what was diagnosed, with the catalog's limits and prices of this version.

    Args:
        diagnosis: of the snapshot.
        snapshot: the window that is replayed.
        constraints: what the way past must keep to.
        prices: an offer file in place of the catalog's prices.

    Raises:
        UsageError: instance, region or constraints leave nothing to compare.
        DataError: storage was not measured, or the offer file is not one.
        SourceError: the offer file cannot be read.
    """
    from plimsoll.catalog.load import catalog
    from plimsoll.plan.plan import plan as law

    known = catalog()
    region = _region_of(snapshot.instance, known)
    if diagnosis.measured_s <= 0:
        raise DataError(
            "storage was not measured, so there is no demand to replay",
            "Give read and write throughput and IOPS; 'plimsoll diagnose' says what is missing.",
        )
    book = book_of(region, prices)
    return law(diagnosis, snapshot, known, book, constraints, today=today())


def could_plan(snapshot: Snapshot, target: str, reach: ReadOptions) -> bool:
    """Return whether instance and region are known well enough to compare what could be bought."""
    from plimsoll.catalog.load import catalog

    instance = in_region(snapshot, target, reach).instance
    try:
        _region_of(instance, catalog())
    except (UsageError, CatalogError):
        return False
    return instance.storage.kind is not None


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


def _region_of(instance: Instance, known: "Catalog") -> str:
    from plimsoll.limits.class_limits import limits_of

    limits = limits_of(instance, known) if instance.db_class else None
    has_limits = limits is not None and limits.ebs_baseline_bytes_per_s is not None
    return check_instance(instance, has_limits=has_limits)
