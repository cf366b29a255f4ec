"""
Read Enhanced Monitoring from the log group RDSOSMetrics, for steps shorter than a minute.

A document has about ten kilobytes, so a day at one second is almost a gigabyte. The newest document is
read for the number of volumes, and one part of the window for what averages of a minute hide.

Source: Amazon CloudWatch Logs API Reference, GetLogEvents: 1 MB or 10,000 events a call, possibly
fewer or none; the pages end when the token repeats (read 2026-11).
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

import msgspec

from plimsoll.errors import DataError
from plimsoll.model.snapshot import Gap
from plimsoll.sources.aws.account import Account, Refused
from plimsoll.sources.aws.described import Described
from plimsoll.sources.aws.operations import GET_LOG_EVENTS
from plimsoll.sources.documents.enhanced_monitoring import read_log_events
from plimsoll.sources.reading.merge import FEWEST_FOR_PERIOD
from plimsoll.sources.reading.reading import Block, Reading
from plimsoll.units import format_time

GROUP = "RDSOSMetrics"
NAME = "Enhanced Monitoring"
# CloudWatch publishes the metrics of AWS/RDS once a minute (RDS user guide, "Monitoring with CloudWatch"),
# so only documents with a shorter interval add detail.
CLOUDWATCH_STEP_S = 60
# Largest answer of GetLogEvents (CloudWatch Logs API Reference).
PAGE_BYTES = 1_000_000
DOCUMENT_BYTES_MAX = 25_000
"""Published documents have 7 to 15 kB; many vCPUs and processes make them longer."""
CALLS_MAX = 100
"""An hour at one second has 3,600 documents: 36 calls of a megabyte at 10 kB each, 90 at 25 kB.
Beyond this bound the part is cut, and the report says so."""
_EMPTY_PAGES_MAX = 3
_NO_STREAM = frozenset({"ResourceNotFoundException"})
_KEPT = Gap(
    metric=NAME,
    reason="it is on, but its log has no document of this window",
    remedy="Raise the retention of the log group RDSOSMetrics; the default is 30 days.",
)
OFF = Gap(
    metric=NAME,
    reason="it is off, so bursts shorter than a minute are not visible",
    remedy="Turn it on with an interval of 1 s, if seconds matter.",
)


def calls_for(interval_s: int, fine_s: int) -> int:
    """Return the most requests for one instance: the newest document, and the busiest part if it is finer."""
    if interval_s <= 0:
        return 0
    if fine_s <= 0 or interval_s >= CLOUDWATCH_STEP_S:
        return 1
    documents = -(-fine_s // interval_s)
    pages = -(-documents * DOCUMENT_BYTES_MAX // PAGE_BYTES)
    return 1 + min(1 + pages, CALLS_MAX)


def is_on(described: Described) -> bool:
    """Return whether the instance has Enhanced Monitoring."""
    return described.monitoring_interval_s > 0 and described.resource_id is not None


def is_finer(described: Described) -> bool:
    """Return whether it has a shorter interval than CloudWatch."""
    return is_on(described) and described.monitoring_interval_s < CLOUDWATCH_STEP_S


def newest(account: Account, described: Described, window_s: tuple[int, int]) -> Reading:
    """
    Read the newest document of the window for facts about the instance, without samples.

    Raises:
        SourceError: CloudWatch Logs refused or did not answer.
    """
    reading = Reading()
    pages = _pages(account, described, window_s, startFromHead=False, limit=1)
    for page, _ in islice(pages, _EMPTY_PAGES_MAX):
        if page["events"]:
            _add(page, described, reading)
            reading.blocks.clear()
            return reading
    reading.gaps.append(_KEPT)
    return reading


def stretch(account: Account, described: Described, stretch_s: tuple[int, int]) -> Reading:
    """
    Read every document of an interval.

    Args:
        stretch_s: epoch seconds, [start, end).

    Raises:
        SourceError: CloudWatch Logs refused or did not answer before the first document.
    """
    reading = Reading()
    start_s, end_s = stretch_s
    # A document describes the interval that ends at its time. The one at the start belongs to the time
    # before, and the last one is written at the end.
    asked_s = (start_s + 1, end_s + described.monitoring_interval_s)
    has_more = False
    for page, is_followed in islice(_pages(account, described, asked_s, startFromHead=True), CALLS_MAX):
        has_more = is_followed
        if page["events"]:
            _add(page, described, reading)
    if has_more:
        span = f"{format_time(start_s)} to {format_time(end_s)}"
        reading.gaps.append(
            Gap(
                metric=NAME,
                reason=f"partly read: {CALLS_MAX} requests do not cover {span}",
                remedy="Give a shorter window around the time that matters.",
            )
        )
    return reading


def _pages(
    account: Account, described: Described, asked_s: tuple[int, int], **more: Any
) -> Iterator[tuple[dict[str, Any], bool]]:
    """Yield each page and whether there are more; no page if the log group or the stream does not exist."""
    request = {
        "logGroupName": GROUP,
        "logStreamName": described.resource_id,
        "startTime": asked_s[0] * 1000,
        "endTime": asked_s[1] * 1000,
        **more,
    }
    field = "nextForwardToken" if more["startFromHead"] else "nextBackwardToken"
    has_more = True
    while has_more:
        try:
            page = account.call(GET_LOG_EVENTS, judged=_NO_STREAM, **request)
        except Refused:
            return
        token = page.get(field)
        has_more = bool(token) and token != request.get("nextToken")
        yield page, has_more
        request["nextToken"] = token


def _add(page: dict[str, Any], described: Described, reading: Reading) -> None:
    """
    Add the documents of a page under the instance's current name.

    The stream belongs to the instance, but documents from before a rename have the old name.
    """
    found = Reading()
    try:
        bad = read_log_events({"events": page["events"]}, found, where=f"the log group {GROUP}")
    except DataError as error:
        gap = Gap(metric=NAME, reason=error.message, remedy="Check the documents in the log group.")
        if gap not in reading.gaps:
            reading.gaps.append(gap)
        return
    name = described.instance.identifier
    reading.blocks += [replace(_stepped(b, described.monitoring_interval_s), instance=name) for b in found.blocks]
    reading.hints += [msgspec.structs.replace(h, identifier=name) for h in found.hints]
    reading.remarks |= found.remarks
    reading.bad_times += found.bad_times + bad


def _stepped(block: Block, interval_s: int) -> Block:
    """Return the block with the interval that RDS states, if the page is too short to show it."""
    if block.period_s is None or block.time_s.size >= FEWEST_FOR_PERIOD:
        return block
    return replace(block, time_s=block.time_s + block.period_s - interval_s, period_s=interval_s)
