"""Watch targets: open what the configuration names, and hand the loop what it reads and computes with."""

import re
import time
from collections.abc import Callable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from plimsoll.app.diagnose import diagnose_snapshot
from plimsoll.app.fleet import read_files
from plimsoll.app.options import ReadOptions
from plimsoll.app.plan import could_plan, plan_snapshot
from plimsoll.app.read import Meter, check_account, check_prometheus, read_fleet, read_prometheus_instances
from plimsoll.app.targets import RDS, Files, Prometheus, Rds, target_of
from plimsoll.app.watched_databases import databases_of, load_of
from plimsoll.errors import PlimsollError, UsageError
from plimsoll.model.ceiling import Dimension, Phase
from plimsoll.model.diagnosis import Diagnosis
from plimsoll.model.family import FAMILIES
from plimsoll.model.metric import Metric
from plimsoll.model.now import open_at
from plimsoll.model.overview import UnreadInstance
from plimsoll.model.plan import Plan, PlanConstraints
from plimsoll.model.snapshot import Snapshot
from plimsoll.reports.chart.drawing import png
from plimsoll.reports.chart.engine import has_vega
from plimsoll.reports.diagnosis.chart import timeline_spec
from plimsoll.watch.config import TargetSettings, WatchSettings
from plimsoll.watch.law.schedule import usd_per_month
from plimsoll.watch.targets import Computations, WatchClock, WatchTarget

WATCHED_METRICS: tuple[Metric, ...] = (
    Metric.READ_BYTES_PER_S,
    Metric.WRITE_BYTES_PER_S,
    Metric.READ_OPS_PER_S,
    Metric.WRITE_OPS_PER_S,
    Metric.READ_LATENCY_S,
    Metric.WRITE_LATENCY_S,
    Metric.QUEUE_DEPTH,
    Metric.BYTE_BALANCE_RATIO,
    Metric.IO_BALANCE_RATIO,
    Metric.VOLUME_BALANCE_RATIO,
    Metric.CPU_RATIO,
    Metric.FREEABLE_MEMORY_BYTES,
    Metric.FREE_STORAGE_BYTES,
    Metric.CONNECTION_COUNT,
)
"""
What a poll of an instance of RDS asks for. Each metric is billed, so there are none here that no rule and no
verdict on storage needs.
"""

# Two pixels for each: sharp on a phone.
_PICTURE_SCALE = 2.0
_ARN_ACCOUNT = re.compile(r"arn:[\w-]+:iam::(\d{12}):")
# An option of the command line in a hint.
_OPTION = re.compile(r"--(region|profile|role)\b")
# One turn of the loop may read a thousand instances; the bound of a single command would stop it.
_CALLS_MAX = 1_000_000


class InstanceCost(Struct, frozen=True, kw_only=True):
    """What watching one instance costs."""

    target: str
    name: str
    metric_count: int
    usd_urgent: float | None
    usd_normal: float | None
    usd_far: float | None
    """For 30 days at each interval; None where the price is not known."""


def open_targets(settings: WatchSettings) -> list[WatchTarget]:
    """
    Return the targets of a configuration; nothing is read yet.

    Raises:
        UsageError: a target has options that belong to another kind, or a DSN cannot be used.
    """
    return [replace(_opened(one), databases=databases_of(one, settings)) for one in settings.targets]


def computations() -> Computations:
    """Return how snapshots are diagnosed, what to do first, and how a timeline is drawn."""
    return Computations(diagnose=diagnose_snapshot, advise=first_steps, draw=picture, weigh=load_of)


def clock() -> WatchClock:
    """Return the clocks of this process."""
    return WatchClock(now_s=time.time, steady_s=time.monotonic)


def usd_per_metric() -> float | None:
    """Return the price of asking for one metric, in US dollars; None if it is not known."""
    from plimsoll.catalog.load import catalog

    price = catalog().api_price("cloudwatch:GetMetricData")
    return None if price is None else float(price.usd) / 1000


def first_steps(diagnosis: Diagnosis, snapshot: Snapshot) -> tuple[str, ...]:
    """
    Return what to do first: the first step of a plan where a ceiling binds now, or else the first move of a finding.

    While only credits are spent, hours do not show what the load needs, so nothing is planned.

    Args:
        diagnosis: of the window.
        snapshot: the window; hours show what would lift the ceiling now, and not what a week needs.
    """
    planned: tuple[str, ...] = ()
    if _binds_for_good(diagnosis) and could_plan(snapshot):
        try:
            planned = _steps_of(plan_snapshot(diagnosis, snapshot, PlanConstraints()))
        except PlimsollError:
            planned = ()
    if planned:
        return planned
    moving = [finding for finding in diagnosis.findings if finding.moves]
    now = open_at(diagnosis)
    if now is not None and now.dimension is Dimension.AMOUNT:
        # What binds now may not be what bound longest.
        moving.sort(key=lambda finding: finding.code != FAMILIES[now.family].code)
    return next((finding.moves[:1] for finding in moving), ())


def _binds_for_good(diagnosis: Diagnosis) -> bool:
    now = open_at(diagnosis)
    if now is None:
        return False
    # A plan compares storage and classes, which is no answer to the maximum of another resource.
    is_rate = now.dimension is not Dimension.AMOUNT
    return is_rate and (now.ceiling is None or now.ceiling.bucket_phase is not Phase.BURST)


def _steps_of(plan: Plan) -> tuple[str, ...]:
    if plan.ladder is None:
        return ()
    steps = [plan.options[rung.option] for rung in plan.ladder.rungs]
    # Hours of one load are no reason to make an instance smaller, and an alert is no time for it.
    steps = [o for o in steps if o.usd_per_day_more is None or o.usd_per_day_more >= 0]
    if not steps:
        return ()
    option = steps[0]
    more = option.usd_per_day_more
    price = "" if more is None else f", +${more:.2f} a day" if more else ", at no cost"
    hours = "by these hours alone; 'plimsoll plan' compares two weeks"
    return (f"Cheapest first step: {option.title}{price} ({hours})",)


def picture(diagnosis: Diagnosis, snapshot: Snapshot) -> bytes:
    """Return the timeline as PNG; empty where pictures are not installed."""
    if not has_vega():
        return b""
    return png(timeline_spec(diagnosis, snapshot), scale=_PICTURE_SCALE)


def costs_of(settings: WatchSettings) -> list[InstanceCost]:
    """
    Return what watching each instance costs; only descriptions are read, which cost nothing.

    Raises:
        PlimsollError: a target cannot be read.
    """
    found: list[InstanceCost] = []
    for one, target in zip(settings.targets, open_targets(settings), strict=True):
        names: list[str] = []

        def noted(name: str, names: list[str] = names) -> bool:
            names.append(name)
            return False

        now_s = int(time.time())
        names += [_identifier(item) for item in target.read((now_s - 3600, now_s), noted)]
        price = usd_per_metric() if target.metric_count else 0.0
        found += [_cost(one, target, name, price, settings) for name in dict.fromkeys(names)]
    return found


def _cost(
    one: TargetSettings, target: WatchTarget, name: str, price: float | None, settings: WatchSettings
) -> InstanceCost:
    poll, count = settings.poll, target.metric_count
    by_interval = [
        None if price is None else usd_per_month(count, interval_s, price)
        for interval_s in (poll.urgent_interval_s, poll.interval_s, poll.far_interval_s)
    ]
    return InstanceCost(
        target=one.target,
        name=name,
        metric_count=count,
        usd_urgent=by_interval[0],
        usd_normal=by_interval[1],
        usd_far=by_interval[2],
    )


def _opened(settings: TargetSettings) -> WatchTarget:
    target = target_of(settings.target)
    if isinstance(target, Rds):
        return _of_account(settings, target)
    if isinstance(target, Prometheus):
        for name in ("region", "profile", "role"):
            if getattr(settings, name):
                raise UsageError(
                    f"the target '{settings.target}' is a server, and {name} belongs to rds:NAME", f"Leave {name} out."
                )
        return _of_prometheus(settings, target)
    for name in ("region", "profile", "role", "match"):
        if getattr(settings, name):
            kind = "prom:URL" if name == "match" else "rds:NAME"
            raise UsageError(
                f"the target '{settings.target}' is a file, and {name} belongs to {kind}", f"Leave {name} out."
            )

    def read(window_s: tuple[int, int], is_chosen: Callable[[str], bool]) -> Iterator[Snapshot | UnreadInstance]:
        del window_s
        stream = read_files(target, instance_file=None, read_options=ReadOptions())
        return (item for item in stream if is_chosen(_identifier(item)))

    return WatchTarget(
        name=settings.target, account=settings.account, is_live=False, metric_count=0, read=read, spent=lambda: 0
    )


def _of_account(settings: TargetSettings, target: Rds) -> WatchTarget:
    if settings.match:
        raise UsageError(
            f"the target '{settings.target}' is an account, and match belongs to prom:URL",
            "Leave match out, and write a pattern in the target: rds:'orders-*'.",
        )
    if not target.name:
        raise UsageError(f"'{RDS}' names no instance", "Write rds:orders-primary, or rds:'*' for all.")
    meters: list[Meter] = []
    options = ReadOptions(
        profile=settings.profile or None,
        region=settings.region or None,
        role_arn=settings.role or None,
        max_api_calls=_CALLS_MAX,
    )
    try:
        check_account(target, options)
    except UsageError as error:
        # A watch has no such options: its targets have keys of the same names.
        hint = _OPTION.sub(r"\1 in [[targets]]", error.hint)
        raise UsageError(error.message, hint) from None

    def read(window_s: tuple[int, int], is_chosen: Callable[[str], bool]) -> Iterator[Snapshot | UnreadInstance]:
        # A new connection each time: credentials may have changed, and what failed before may work again.
        stream, meter, _ = read_fleet(target, options, window_s, metrics=WATCHED_METRICS, is_chosen=is_chosen)
        meters.append(meter)
        return stream

    def spent() -> int:
        total = sum(meter().metrics_requested for meter in meters)
        meters.clear()
        return total

    role = _ARN_ACCOUNT.match(settings.role)
    return WatchTarget(
        name=settings.target,
        account=settings.account or (role[1] if role else settings.profile),
        is_live=True,
        metric_count=len(WATCHED_METRICS),
        read=read,
        spent=spent,
    )


def _of_prometheus(settings: TargetSettings, target: Prometheus) -> WatchTarget:
    check_prometheus(target, settings.match)
    options = ReadOptions(match=settings.match)

    def read(window_s: tuple[int, int], is_chosen: Callable[[str], bool]) -> Iterator[Snapshot | UnreadInstance]:
        stream, _ = read_prometheus_instances(target, "*", options, window_s, is_chosen)
        return stream

    return WatchTarget(
        name=settings.target, account=settings.account, is_live=True, metric_count=0, read=read, spent=lambda: 0
    )


def _identifier(item: Snapshot | UnreadInstance) -> str:
    return item.identifier if isinstance(item, UnreadInstance) else item.instance.identifier


def check_files(settings: WatchSettings) -> None:
    """
    Refuse targets that are files and do not exist, before anything starts.

    Raises:
        UsageError: one of them does not exist.
    """
    for one in settings.targets:
        target = target_of(one.target)
        if isinstance(target, Files) and not target.path.exists():
            raise UsageError(
                f"target '{one.target}' does not exist",
                "Give rds:NAME, rds:'*', prom:URL, or a file or folder of metrics.",
            )
