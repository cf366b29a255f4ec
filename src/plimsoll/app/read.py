"""
Read a target into a snapshot: `rds:NAME`, `prom:URL`, or a file or folder.

A live target is read for a window, by default the last day. A file is read whole, and cut to a
window only if one is requested.
"""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from plimsoll.app.instance import with_flags
from plimsoll.app.moments import window_of
from plimsoll.app.options import InstanceOptions, ReadOptions
from plimsoll.app.progress import SILENT, Progress
from plimsoll.app.targets import PROMETHEUS, RDS, Files, Prometheus, Rds, Target, target_of
from plimsoll.errors import CatalogError, DataError, UsageError
from plimsoll.model.instance import Instance
from plimsoll.model.metric import Metric
from plimsoll.model.overview import UnreadInstance, Usage
from plimsoll.model.snapshot import Snapshot, cut
from plimsoll.units import format_time

if TYPE_CHECKING:
    from plimsoll.sources.aws.account import Account
    from plimsoll.sources.aws.session_load import Chosen

Meter = Callable[[], Usage]

DEFAULT_LAST = "24h"


class OpenReading(NamedTuple):
    """What was read of a target, and how to ask its account for more."""

    snapshot: Snapshot
    with_statements: "Callable[[Snapshot, Chosen], Snapshot]"
    """Adds who was active in stretches of the window, if the target is an account that knows."""


def read_target(
    target: str | Target, flags: InstanceOptions, read_options: ReadOptions | None = None, progress: Progress = SILENT
) -> Snapshot:
    """
    Return the snapshot of a target, with the flags applied to its instance.

    Args:
        target: `rds:NAME`, `prom:URL`, a recorded snapshot, or a file or folder of exported metrics.
        flags: overrides; every given flag wins over the source.
        read_options: window and access.
        progress: shown while a source is read.

    Raises:
        UsageError: the target does not exist, or a flag is not valid.
        SourceError: the source refuses, or does not answer.
        DataError: the target holds nothing that can be read.
    """
    with reading_of(target, flags, read_options, progress) as reading:
        return reading.snapshot


@contextmanager
def reading_of(
    target: str | Target,
    flags: InstanceOptions,
    read_options: ReadOptions | None = None,
    progress: Progress = SILENT,
    *,
    has_statements: bool = False,
) -> Iterator[OpenReading]:
    """
    Read a target as `read_target` does, and yield the reading with its account open.

    Args:
        target: as for `read_target`; likewise flags, read_options, progress and errors.
        has_statements: whether the account will be asked who was active.
    """
    read_options = read_options or ReadOptions()
    with_flags(Instance(), flags)  # refuses flags that are not valid before any request is sent
    target = target_of(target)
    source: AbstractContextManager[OpenReading]
    match target:
        case Rds(is_pattern=True):
            raise UsageError(
                f"'{target}' matches several instances, but one is needed", "Name one, for example rds:orders-primary."
            )
        case Rds() if flags.instance_file is not None or flags.identifier is not None:
            raise UsageError(
                f"'{target}' names the instance, and the account says what was bought",
                "Leave out --instance and --identifier; --class and the like still replace what it says.",
            )
        case Rds():
            source = _read_rds(target.name, read_options, progress, has_statements=has_statements)
        case Prometheus():
            source = _alone(_read_prometheus(target.url, flags, read_options, progress))
        case Files():
            source = _alone(_read_file(target, flags, read_options, progress))
    with source as reading:
        snapshot = with_counts(reading.snapshot, read_options.counts)
        instance = with_flags(snapshot.instance, flags)
        yield reading._replace(snapshot=msgspec.structs.replace(snapshot, instance=instance))


def read_fleet(
    target: Rds,
    read_options: ReadOptions,
    window_s: tuple[int, int],
    *,
    metrics: Sequence[Metric] | None = None,
    is_chosen: Callable[[str], bool] | None = None,
) -> tuple[Iterator[Snapshot | UnreadInstance], Meter, Callable[[], str]]:
    """
    Return the instances that match a pattern, one by one; the requests so far; and what it waits for.

    Args:
        target: a pattern.
        read_options: access.
        window_s: epoch seconds, [start, end).
        metrics: to ask for; None for all.
        is_chosen: takes the name of a matching instance; the others are not read, and neither are those
            of engines that are not supported. None reads all, and says so of each that is not supported.

    Raises:
        UsageError: nothing matches the pattern, or reading would need more requests than allowed.
        SourceError: the account cannot be read at all.
    """
    from plimsoll.sources.aws.metric_data import WANTED
    from plimsoll.sources.aws.read import read_instances

    account = _account(read_options, target.name)
    stream = read_instances(
        account,
        target.name,
        window_s,
        ec2_type_of=ec2_type_of,
        metrics=WANTED if metrics is None else metrics,
        is_chosen=lambda d: is_chosen is None or (d.is_rds and is_chosen(d.instance.identifier)),
    )
    return stream, lambda: account.usage, lambda: waiting_for(account)


def read_prometheus_instances(
    target: Prometheus,
    pattern: str,
    read_options: ReadOptions,
    window_s: tuple[int, int],
    is_chosen: Callable[[str], bool] = lambda _name: True,
) -> tuple[Iterator[Snapshot | UnreadInstance], str]:
    """
    Return a server's instances that match a pattern, one by one, and its address without a password.

    Args:
        target: the server.
        pattern: shell pattern.
        read_options: matches and headers.
        window_s: epoch seconds, [start, end).
        is_chosen: takes the name of a matching instance; the samples of the others are not read.

    Raises:
        UsageError: nothing matches the pattern.
        SourceError: the server refuses, or does not answer.
    """
    from plimsoll.sources.prometheus.read import read_prometheus_fleet, server_of

    server = server_of(target.url, match=read_options.match, headers=read_options.headers, environment=os.environ)
    stream = read_prometheus_fleet(server, window_s, pattern, is_chosen=is_chosen)
    return stream, f"{PROMETHEUS}{server.url}"


def check_account(target: Rds, read_options: ReadOptions) -> None:
    """
    Refuse a profile that does not exist, or an account without a region; nothing is asked.

    Raises:
        UsageError: the configuration of AWS cannot be used.
    """
    _account(read_options, target.name)


def check_prometheus(target: Prometheus, match: Sequence[str]) -> None:
    """
    Refuse a target that is no address of a server, or a match that is none; nothing is asked.

    Raises:
        UsageError: one of them cannot be used.
    """
    from plimsoll.sources.prometheus.read import server_of

    server_of(target.url, match=match, headers=(), environment=os.environ)


def _alone(snapshot: Snapshot) -> AbstractContextManager[OpenReading]:
    return nullcontext(OpenReading(snapshot, lambda found, _: found))


@contextmanager
def _read_rds(
    name: str, read_options: ReadOptions, progress: Progress, *, has_statements: bool
) -> Iterator[OpenReading]:
    from plimsoll.sources.aws.read import read_instance
    from plimsoll.sources.aws.session_load import with_statements

    account, window_s = _account(read_options, name), live_window(read_options)
    try:
        with progress.waiting(lambda: waiting_for(account)):
            snapshot, described = read_instance(
                account, name, window_s, ec2_type_of=ec2_type_of, has_statements=has_statements
            )
            yield OpenReading(
                msgspec.structs.replace(snapshot, asked_s=window_s),
                lambda found, chosen: with_statements(account, described, found, chosen),
            )
    finally:
        progress.spent(account.usage, cost_of(account.usage))


def waiting_for(account: "Account") -> str:
    """Describe what a reading from AWS waits for: `12 requests to AWS, the last one for rds:DescribeEvents`."""
    count = account.usage.call_count
    if not count:
        return ""  # the person may be typing a one-time code at a prompt
    requests = "1 request" if count == 1 else f"{count:,} requests"
    return f"{requests} to AWS, the last one for {account.is_waiting_for}"


def _account(read_options: ReadOptions, name: str) -> "Account":
    from plimsoll.sources.aws.account import open_account
    from plimsoll.sources.aws.described import region_of

    if not name:
        raise UsageError(f"'{RDS}' names no instance", "Write rds:orders-primary, or rds:'*' for all.")
    return open_account(
        profile=read_options.profile,
        region=region_of(name)[0] or read_options.region,
        max_api_calls=read_options.max_api_calls,
        role_arn=read_options.role_arn,
        now_s=time.time,
    )


def _read_prometheus(url: str, flags: InstanceOptions, read_options: ReadOptions, progress: Progress) -> Snapshot:
    from plimsoll.sources.prometheus.read import read_prometheus, server_of
    from plimsoll.sources.targets.one import with_description

    server = server_of(url, match=read_options.match, headers=read_options.headers, environment=os.environ)
    window_s = live_window(read_options)
    with progress.waiting(lambda: f"asking {server.url}"):
        snapshot = read_prometheus(server, window_s, identifier=flags.identifier)
    snapshot = msgspec.structs.replace(snapshot, asked_s=window_s)
    return with_description(snapshot, flags.instance_file, flags.identifier)


def live_window(read_options: ReadOptions) -> tuple[int, int]:
    """Return the window for which a live target is read, epoch seconds; the last day by default."""
    window = window_of(
        read_options.last, read_options.since, read_options.until, now_s=int(time.time()), default=DEFAULT_LAST
    )
    assert window is not None
    return window


def ec2_type_of(db_class: str) -> str | None:
    """Return the EC2 type behind a class, from the catalog or else from its name; None if neither has it."""
    from plimsoll.catalog.load import catalog

    try:
        return catalog().instance_limits(db_class).ec2_type
    except CatalogError:
        name = db_class.removeprefix("db.")
        return name if name.count(".") == 1 and name != "serverless" else None


def cost_of(usage: Usage) -> Decimal | None:
    """Return the cost of a reading in US dollars; None if the price is not known."""
    from plimsoll.catalog.load import catalog

    # GetMetricData is billed per metric requested, not per call; the catalog has the price of 1,000.
    # Source: CloudWatch pricing page, "APIs".
    price = catalog().api_price("cloudwatch:GetMetricData")
    return None if price is None else price.usd * usage.metrics_requested / 1000


def _read_file(target: Files, flags: InstanceOptions, read_options: ReadOptions, progress: Progress) -> Snapshot:
    from plimsoll.sources.files.standard_input import InputProgress
    from plimsoll.sources.targets.one import read

    path = target.path
    if not path.exists() and not target.is_standard_input:
        raise UsageError(
            f"target '{target}' does not exist",
            "Give rds:NAME, prom:URL, a recorded snapshot, or a file or folder of exported metrics.",
        )
    input_progress = InputProgress()
    with progress.waiting(input_progress.text) if target.is_standard_input else nullcontext():
        snapshot = read(
            path, instance_file=flags.instance_file, identifier=flags.identifier, input_progress=input_progress
        )
    return in_window(snapshot, target.name, read_options)


def in_window(snapshot: Snapshot, name: str, read_options: ReadOptions) -> Snapshot:
    """
    Return what a file holds, cut to the requested window if there is one.

    Args:
        snapshot: all that the file holds.
        name: name of the target, for the message.
        read_options: the window; a file may be old, so `last` counts back from its last sample.

    Raises:
        UsageError: the window is not valid.
        DataError: no sample lies in the window.
    """
    start, end = snapshot.window_s or (0, 0)
    window = window_of(read_options.last, read_options.since, read_options.until, now_s=end, default=None)
    if window is None:
        return snapshot
    found = cut(snapshot, window)
    if snapshot.series and not found.series:
        raise DataError(
            f"'{name}' has no sample in that window", f"It covers {format_time(start)} to {format_time(end)}."
        )
    # Without --from or --last the window begins with the data.
    begins_s = window[0] if read_options.since or read_options.last else max(window[0], start)
    return msgspec.structs.replace(found, asked_s=(begins_s, window[1]))


def with_counts(snapshot: Snapshot, files: Sequence[Path]) -> Snapshot:
    """
    Add the series of the same time from other files to a snapshot.

    Args:
        snapshot: what was measured; its own series do not change.
        files: exports or snapshots, in any form that a target may have; the first file that has a
            metric provides it.

    Raises:
        UsageError: a file does not exist.
        DataError: a file cannot be read, covers another time, or has nothing new.
    """
    for file in files:
        snapshot = _with_file(snapshot, file)
    return snapshot


def _with_file(snapshot: Snapshot, file: Path) -> Snapshot:
    from plimsoll.sources.targets.one import read

    if not file.exists():
        raise UsageError(f"'{file}' does not exist", "Give --counts a file or folder of exported metrics.")
    found = read(file)
    window = snapshot.window_s
    start, end = found.window_s or (0, 0)
    same_time = found if window is None else cut(found, window)
    if not same_time.series:
        raise DataError(
            f"'{file}' covers none of the time in which '{snapshot.source}' was measured",
            f"It covers {format_time(start)} to {format_time(end)}.",
        )
    new = {m: s for m, s in same_time.series.items() if m not in snapshot.series}
    if not new:
        names = ", ".join(sorted(metric.value for metric in same_time.series))
        raise DataError(
            f"'{file}' has no metric that the target lacks: {names}",
            "Name its columns arrivals_per_s, transactions_per_s, active_session_count or waiting_work_count.",
        )
    return msgspec.structs.replace(
        snapshot,
        series={**snapshot.series, **new},
        gaps=tuple(gap for gap in snapshot.gaps if gap.metric not in {m.value for m in new}),
    )
