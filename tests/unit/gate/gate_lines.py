"""Lines of a gate's record, as the daemon would write them for a known load. Simulated."""

from plimsoll.model.ceiling import Phase
from plimsoll_lab.gate.record import Bound, RecordLine

START_S = 1_700_000_040.0
"""A whole minute, 2023-11-14T22:14:00Z."""


def line(
    at_s: float,
    dt: float = 1.0,
    *,
    read_bytes_per_s: float = 80e6,
    write_bytes_per_s: float = 6e6,
    size_bytes: float = 131_072.0,
    latency_s: float = 0.004,
    balance: dict[str, float | None] | None = None,
    binding: dict[str, Bound] | None = None,
    late_ops: float = 0.0,
    late_s_max: float = 0.0,
    late_s_sum: float = 0.0,
) -> RecordLine:
    """Return a step that begins `at_s` after START_S and lasts `dt`, with constant rates."""
    reads, writes = (rate * dt / size_bytes for rate in (read_bytes_per_s, write_bytes_per_s))
    return RecordLine(
        t=START_S + at_s + dt,
        dt=dt,
        read_ops=reads,
        write_ops=writes,
        read_bytes=read_bytes_per_s * dt,
        write_bytes=write_bytes_per_s * dt,
        read_wait_s_sum=reads * latency_s,
        write_wait_s_sum=writes * latency_s,
        queue_depth=(reads + writes) * latency_s / dt,
        balance=balance or {},
        binding=binding or {},
        late_ops=late_ops,
        late_s_max=late_s_max,
        late_s_sum=late_s_sum,
        stall_s_max=0.0,
        fsyncs=0,
    )


def lines(count: int, dt: float = 1.0, **facts) -> list[RecordLine]:
    """Return steps of one length, one after the other, all equal."""
    return [line(index * dt, dt, **facts) for index in range(count)]


def held(seconds: float, phase: Phase = Phase.BASELINE) -> dict[str, Bound]:
    """The instance's throughput made requests wait."""
    return {"instance_ebs_throughput": Bound(seconds, phase)}
