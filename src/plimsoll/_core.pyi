# ruff: noqa: PYI021  # this is where a reader of compiled functions looks for what they do
"""
The compiled law, as `plimsoll.kernel` sees it, and readers of bytes, as `plimsoll.wire` sees them; nothing else
imports it.

A stage is the tuple (baseline, burst, capacity, counts bytes, unit bytes, sequential ratio,
stripes); a chain is (stages, balances at the start); a demand is (operations per second, bytes per
operation, length of a step); a grant is (first_s, every_s, stages). `plimsoll.kernel` says what
they mean and checks them. Arrays are one-dimensional and contiguous; results are dictionaries of columns.
"""

from typing import TypeAlias, TypedDict, final

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "STAGES_MAX",
    "StreamReader",
    "by_series",
    "ceiling_curve",
    "ceiling_ops_per_s",
    "cost_per_op",
    "knee_bytes",
    "replay",
    "replay_candidates",
    "stream_lines",
    "stream_messages",
    "time_to_empty_s",
    "unpacked",
    "unpacked_head",
]

_Floats: TypeAlias = NDArray[np.float64]
_Demand: TypeAlias = tuple[_Floats, _Floats, float]
_Stage: TypeAlias = tuple[float, float, float, bool, float, float, float]
_Chain: TypeAlias = tuple[list[_Stage], list[float]]
_Grant: TypeAlias = tuple[float, float, list[int]]

class _Replay(TypedDict):
    served_ops: _Floats
    served_bytes: _Floats
    backlog_ops: _Floats
    backlog_bytes: _Floats
    shed_ops: _Floats
    shed_bytes: _Floats
    throttled_ratio: _Floats
    binding: NDArray[np.int16]
    at_burst: NDArray[np.bool_]
    balance: _Floats

class _Trials(TypedDict):
    throttled_steps: NDArray[np.uint32]
    served_ops: _Floats
    served_bytes: _Floats
    backlog_ops: _Floats
    backlog_bytes: _Floats
    balance_min: _Floats

class _Curve(TypedDict):
    ops_per_s: _Floats
    bytes_per_s: _Floats
    stage: NDArray[np.int16]
    next_ops_per_s: _Floats
    next_stage: NDArray[np.int16]

class _Points(TypedDict):
    series: list[tuple[str, str, str | None, str, str | None, list[tuple[str, str]]]]
    series_index: NDArray[np.uint32]
    time: _Floats
    sum: _Floats
    count: _Floats
    min: _Floats
    max: _Floats

class _Sorted(TypedDict):
    day: NDArray[np.int64]
    rank: NDArray[np.uint32]
    length: NDArray[np.int64]
    time_s: NDArray[np.int64]
    sum: _Floats
    count: _Floats
    min: _Floats
    max: _Floats

STAGES_MAX: int
"""Most stages of a chain that `replay_candidates` takes."""

def replay(demand: _Demand, chain: _Chain, carry: bool, grants: list[_Grant]) -> _Replay:
    """Send a series of demand through one chain; `balance` has shape (stages, steps)."""

def replay_candidates(demand: _Demand, chains: list[_Chain], carry: bool, allowed_steps: int | None) -> _Trials:
    """Send a series of demand through many chains; `balance_min` has shape (stages, candidates)."""

def ceiling_curve(chain: list[_Stage], io_size_bytes: _Floats, burst: bool) -> _Curve:
    """Return the rate that the chain lets through at each I/O size, the stage that binds and the next one."""

def ceiling_ops_per_s(stage: _Stage, io_size_bytes: float, burst: bool) -> float:
    """Return the operations per second that one stage lets through."""

def cost_per_op(stage: _Stage, io_size_bytes: float) -> float:
    """Return the credits that one operation takes from each stripe."""

def time_to_empty_s(stage: _Stage, balance: float, rate_per_s: float) -> float:
    """Return the seconds until the balance is zero; infinite if it does not fall."""

def knee_bytes(bytes_per_s: float, ops_per_s: float) -> float:
    """Return the I/O size at which both ceilings let the same rate through."""

def stream_lines(data: bytes) -> tuple[_Points, list[tuple[int, int, int]]]:
    """Read JSON lines of a metric stream; and runs of other lines: start, end, points before them."""

def stream_messages(data: bytes) -> _Points | None:
    """Read OpenTelemetry messages of a metric stream; None if a part is damaged or unusual."""

def unpacked(packed: bytes, most_bytes: int) -> bytes | None:
    """Unpack a gzip file; None if it has several members, is damaged, or names more than `most_bytes`."""

def unpacked_head(packed: bytes, most_bytes: int) -> tuple[bytes, int] | None:
    """Unpack the first bytes of a gzip file; with the size that it names. None if it names none."""

def by_series(
    series: NDArray[np.int64], rank: NDArray[np.uint32], time_s: NDArray[np.int64], values: list[_Floats]
) -> _Sorted:
    """Sort points by day, rank of the series and time, each once; values are sum, count, minimum, maximum."""

@final
class StreamReader:
    """Reads packed files of metric streams; series are named once and counted through all files of a kind."""

    def lines(self, packed: bytes, most_bytes: int) -> _Points | None:
        """Read JSON lines; None if the file is damaged, or a line has another form."""

    def messages(self, packed: bytes, most_bytes: int) -> _Points | None:
        """Read OpenTelemetry messages; None if the file is damaged, or a message has another form."""
