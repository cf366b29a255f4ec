"""
Convert what a gate of a smaller scale counted to the whole: one of N equal parts of a load ran behind it.

Rule 1: what adds up over parts is multiplied: operations, bytes, waiting requests, credits.
Rule 2: what is the same in every part stays: latencies, times, balances as shares.
"""

from collections.abc import Sequence

import msgspec

from plimsoll_lab.gate.config import part_of
from plimsoll_lab.gate.control import GateStatus
from plimsoll_lab.gate.record import RecordLine


def whole_lines(lines: Sequence[RecordLine], scale: float) -> list[RecordLine]:
    """Return the lines that `scale` equal parts would have given, of which one was recorded."""
    return [
        msgspec.structs.replace(
            line,
            read_ops=line.read_ops * scale,
            write_ops=line.write_ops * scale,
            read_bytes=line.read_bytes * scale,
            write_bytes=line.write_bytes * scale,
            read_wait_s_sum=line.read_wait_s_sum * scale,
            write_wait_s_sum=line.write_wait_s_sum * scale,
            queue_depth=line.queue_depth * scale,
            late_ops=line.late_ops * scale,
            late_s_sum=line.late_s_sum * scale,
            fsyncs=line.fsyncs * scale,
        )
        for line in lines
    ]


def whole_status(status: GateStatus, scale: float) -> GateStatus:
    """Return the state that `scale` equal parts would have, of which this is one."""
    return msgspec.structs.replace(
        status,
        read_bytes_per_s=status.read_bytes_per_s * scale,
        write_bytes_per_s=status.write_bytes_per_s * scale,
        read_ops_per_s=status.read_ops_per_s * scale,
        write_ops_per_s=status.write_ops_per_s * scale,
        queue_depth=status.queue_depth * scale,
        chain=tuple(part_of(stage, 1 / scale) for stage in status.chain),
    )
