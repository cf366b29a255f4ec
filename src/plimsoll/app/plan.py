"""Plan for the present part of a diagnosed snapshot: check what a plan needs, and choose its prices."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from plimsoll.app.moments import today
from plimsoll.app.options import ReadOptions
from plimsoll.app.prices import book_of
from plimsoll.app.targets import LIVE, Rds, Target
from plimsoll.errors import CatalogError, DataError, UsageError
from plimsoll.model.ceiling import Dimension
from plimsoll.model.diagnosis import Diagnosis
from plimsoll.model.instance import Instance, engine_family
from plimsoll.model.plan import FirstOptions, Judgement, Plan, PlanConstraints
from plimsoll.model.price import LICENSES, PriceBook, priced_engine
from plimsoll.model.snapshot import EventKind, Snapshot, cut
from plimsoll.units import format_clock, format_duration

if TYPE_CHECKING:
    from plimsoll.catalog.load import Catalog

PLAN_LAST = "14d"
"""Default window of a plan. Two weeks show every weekday twice, so that one odd day is noticed."""
SHORT_WINDOW = "short-window"
"""Value of `--allow` that permits a window of less than a day; all other values are patterns."""

_CHANGES = {EventKind.CLASS_CHANGE: "the class was changed", EventKind.STORAGE_CHANGE: "the storage was changed"}
_DAY_S = 86_400
# A window of a day up to now lacks its last samples. Basic monitoring of CloudWatch has one sample in
# five minutes and publishes it some minutes late; a scrape after a restart comes later still.
_DAY_SHOWN = 0.95


def with_two_weeks(target: Target, read_options: ReadOptions) -> ReadOptions:
    """Read a live target for two weeks, unless a window was asked for."""
    is_asked = read_options.last is not None or read_options.since is not None
    return read_options if is_asked or not isinstance(target, LIVE) else replace(read_options, last=PLAN_LAST)


def in_region(snapshot: Snapshot, target: Target, read_options: ReadOptions) -> Snapshot:
    """Return the snapshot with the region of `--region`; an instance read from AWS keeps its own."""
    if read_options.region is None or isinstance(target, Rds):
        return snapshot
    return replace(snapshot, instance=replace(snapshot.instance, region=read_options.region))


def with_license(snapshot: Snapshot, license_model: str | None) -> Snapshot:
    """
    Return the snapshot with the given licence model; None keeps what the source says.

    Raises:
        UsageError: the engine is not sold with this licence.
    """
    if license_model is None:
        return snapshot
    from plimsoll.catalog.load import catalog

    instance = replace(snapshot.instance, license_model=license_model)
    check_license(instance, catalog().licenses(priced_engine(instance.engine or "")))
    return replace(snapshot, instance=instance)


def plan_snapshot(
    diagnosis: Diagnosis, snapshot: Snapshot, constraints: PlanConstraints, prices: Path | None = None
) -> Plan:
    """
    Return the plan for a diagnosis, with the limits and prices of this version's catalog.

    Args:
        diagnosis: of the snapshot.
        snapshot: the window to replay.
        constraints: limits of a change.
        prices: an offer file in place of the catalog's prices.

    Raises:
        UsageError: instance, region or constraints leave nothing to compare.
        DataError: storage was not measured, or the offer file cannot be read as one.
        SourceError: the offer file cannot be read.
    """
    from plimsoll.plan.plan import plan as law

    known, book = _known_and_prices(diagnosis, snapshot, prices)
    diagnosis, snapshot, why = _present(diagnosis, snapshot, known)
    found = law(diagnosis, snapshot, known, book, constraints, today=today())
    return replace(found, headline=f"{found.headline.removesuffix('.')}. {why}") if why else found


def options_snapshot(diagnosis: Diagnosis, snapshot: Snapshot, constraints: PlanConstraints) -> FirstOptions:
    """
    Return the options of `plan_snapshot` without what only a report needs.

    Arguments and errors are those of `plan_snapshot`.
    """
    from plimsoll.plan.plan import first_options

    known, book = _known_and_prices(diagnosis, snapshot, None)
    diagnosis, snapshot, _ = _present(diagnosis, snapshot, known)
    return first_options(diagnosis, snapshot, known, book, constraints)


def _present(diagnosis: Diagnosis, snapshot: Snapshot, known: "Catalog") -> tuple[Diagnosis, Snapshot, str]:
    """
    Return the part of the window to plan for, its diagnosis, and why the rest is left out; empty where all is taken.

    After a change of class or storage, and after the last limit that is over, the time before tells nothing about
    what is needed now. Less than a day does not show the demand of other hours, so then all is taken.
    """
    from plimsoll.diagnosis.diagnose import diagnose
    from plimsoll.diagnosis.recognition.rate_words import format_rate

    end_s = diagnosis.window_s[1]
    ends = [
        (
            at.over_s,
            "the disk had space again"
            if at.dimension is Dimension.AMOUNT
            else f"a limit of {format_rate(at.level, at.dimension)} ended",
        )
        for at in diagnosis.time_at
        if at.over_s is not None
    ]
    ends += [(note.time_s, _CHANGES[note.kind]) for note in diagnosis.annotations if note.kind in _CHANGES]
    inside = [one for one in ends if diagnosis.window_s[0] < one[0] <= end_s - _DAY_SHOWN * _DAY_S]
    if not inside:
        return diagnosis, snapshot, ""
    since_s, why = max(inside)
    part = cut(snapshot, (since_s, end_s))
    return diagnose(part, known), part, f"Planned for the time since {format_clock(since_s)} UTC alone, when {why}."


def _known_and_prices(diagnosis: Diagnosis, snapshot: Snapshot, prices: Path | None) -> tuple["Catalog", PriceBook]:
    """Return the catalog and the prices for a plan; refuse what cannot be planned for."""
    from plimsoll.catalog.load import catalog

    known = catalog()
    region = _region_of(snapshot.instance, known)
    if diagnosis.measured_s <= 0:
        raise DataError(
            "storage was not measured, so there is no demand to replay",
            "Give read and write throughput and IOPS; 'plimsoll diagnose' lists what is missing.",
        )
    return known, book_of(region, prices)


def could_plan(snapshot: Snapshot) -> bool:
    """Return whether instance and region are known well enough for a plan."""
    from plimsoll.catalog.load import catalog

    instance = snapshot.instance
    try:
        _region_of(instance, catalog())
    except (UsageError, CatalogError):
        return False
    return instance.storage.kind is not None


def asks_for_size(diagnosis: Diagnosis) -> bool:
    """Return whether a class or a storage is the answer to what bound; a full disk needs another one."""
    from plimsoll.plan.judge.unsolved import unsolved_by

    return bool(diagnosis.time_at) and unsolved_by(diagnosis, Judgement.DOES_NOT) is None


def check_window(snapshot: Snapshot, *, is_short_allowed: bool) -> None:
    """
    Refuse a window of less than a day, because it does not show the demand of other hours.

    Raises:
        DataError: it is shorter than a day.
    """
    start_s, end_s = snapshot.window_s or (0, 0)
    if is_short_allowed or shows_a_day(snapshot):
        return
    raise DataError(
        f"the window of {format_duration(end_s - start_s)} is shorter than a day, so the demand at "
        "other hours is not known",
        "Give a longer window, for example --last 14d. To plan for these hours alone, give "
        f"'plimsoll plan' --allow {SHORT_WINDOW}.",
    )


def shows_a_day(snapshot: Snapshot) -> bool:
    """Return whether a window covers a day, except for the last samples of a live source."""
    start_s, end_s = snapshot.window_s or (0, 0)
    return end_s - start_s >= _DAY_SHOWN * _DAY_S


def check_instance(instance: Instance, *, has_limits: bool) -> str:
    """
    Return the region of an instance; refuse an instance that a plan cannot compare.

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
                f"the {what} of '{name}' is not known, so no change can be compared with it",
                f"Give {remedy}, or --instance with the answer of 'aws rds describe-db-instances'.",
            )
    if engine_family(instance.engine) == "aurora":
        raise UsageError(
            f"'{name}' is Aurora, and a plan needs storage on EBS volumes",
            "Plans exist only for RDS instances on EBS volumes.",
        )
    if not has_limits:
        raise UsageError(
            f"class '{instance.db_class}' has no documented limits, so its demand cannot be replayed",
            "Check its name with 'plimsoll limits', or read the instance from AWS: rds:NAME.",
        )
    assert instance.region is not None
    return instance.region


def check_license(instance: Instance, licenses: Sequence[str]) -> None:
    """
    Refuse a licence model with which the engine is not sold.

    Args:
        instance: with the licence model that was given.
        licenses: licence models that have a price for the engine, for example `byol` or `none`; empty
            if not known.

    Raises:
        UsageError: the licence model is none of them.
    """
    if not licenses or LICENSES[instance.license_model or ""] in licenses:
        return
    which = [model for model, short in LICENSES.items() if short in licenses]
    sold = " or ".join(which if "none" not in licenses else ["a license that costs nothing"])
    raise UsageError(
        f"{instance.engine} is not sold with --license {instance.license_model}",
        f"It has {sold}. Leave --license out to use the instance's own licence.",
    )


def _region_of(instance: Instance, known: "Catalog") -> str:
    from plimsoll.limits.class_limits import limits_of

    limits = limits_of(instance, known) if instance.db_class else None
    has_limits = limits is not None and limits.ebs_baseline_bytes_per_s is not None
    return check_instance(instance, has_limits=has_limits)
