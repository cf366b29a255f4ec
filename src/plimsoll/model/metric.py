"""
The measured quantities: one name each, with its unit and its CloudWatch name.

Values are in seconds, bytes, operations and ratios 0–1; a source converts as it reads.
CloudWatch names and units: RDS User Guide, "Amazon CloudWatch metrics for Amazon RDS" (2026-04).
"""

from enum import StrEnum
from typing import Annotated

from msgspec import Struct

from plimsoll.model.written import OneOf


class Metric(StrEnum):
    """A measured quantity; the value is the name used in snapshots."""

    READ_BYTES_PER_S = "read_bytes_per_s"
    WRITE_BYTES_PER_S = "write_bytes_per_s"
    READ_OPS_PER_S = "read_ops_per_s"
    WRITE_OPS_PER_S = "write_ops_per_s"
    READ_LATENCY_S = "read_latency_s"
    WRITE_LATENCY_S = "write_latency_s"
    QUEUE_DEPTH = "queue_depth"
    BYTE_BALANCE_RATIO = "byte_balance_ratio"
    IO_BALANCE_RATIO = "io_balance_ratio"
    VOLUME_BALANCE_RATIO = "volume_balance_ratio"
    CPU_RATIO = "cpu_ratio"
    CPU_CREDITS = "cpu_credits"
    CPU_SURPLUS_CREDITS = "cpu_surplus_credits"
    CPU_SURPLUS_CREDITS_CHARGED = "cpu_surplus_credits_charged"
    FREEABLE_MEMORY_BYTES = "freeable_memory_bytes"
    SWAP_BYTES = "swap_bytes"
    FREE_STORAGE_BYTES = "free_storage_bytes"
    FREE_LOCAL_STORAGE_BYTES = "free_local_storage_bytes"
    CAPACITY_RATIO = "capacity_ratio"
    CONNECTION_COUNT = "connection_count"
    NETWORK_RECEIVE_BYTES_PER_S = "network_receive_bytes_per_s"
    NETWORK_TRANSMIT_BYTES_PER_S = "network_transmit_bytes_per_s"
    ACTIVE_SESSION_COUNT = "active_session_count"
    WAITING_SESSION_COUNT = "waiting_session_count"
    IO_WAITING_SESSION_COUNT = "io_waiting_session_count"
    TRANSACTIONS_PER_S = "transactions_per_s"
    ROLLBACKS_PER_S = "rollbacks_per_s"
    ARRIVALS_PER_S = "arrivals_per_s"
    COMPLETIONS_PER_S = "completions_per_s"
    WAITING_WORK_COUNT = "waiting_work_count"
    LOAD_AVERAGE = "load_average"
    DATABASE_READ_BYTES_PER_S = "database_read_bytes_per_s"
    DATABASE_WRITE_BYTES_PER_S = "database_write_bytes_per_s"


BalanceMetric = Annotated[
    Metric, OneOf(("byte_balance_ratio", "io_balance_ratio", "volume_balance_ratio", "cpu_credits"))
]
"""The metric of the credits of a limit."""


class MetricFacts(Struct, frozen=True, kw_only=True):
    """The meaning, unit and CloudWatch name of a metric."""

    cloudwatch: str | None
    """Name in namespace AWS/RDS; None where CloudWatch has no such metric."""
    scale: float
    """Multiply CloudWatch's number by this to get ours (0.01 for percentages)."""
    unit: str
    """Our unit: `bytes/s`, `ops/s`, `s`, `requests`, `ratio`, `bytes`, `count`, `credits`."""
    meaning: str
    """One line for people."""


def _facts(cloudwatch: str | None, scale: float, unit: str, meaning: str) -> MetricFacts:
    return MetricFacts(cloudwatch=cloudwatch, scale=scale, unit=unit, meaning=meaning)


METRICS: dict[Metric, MetricFacts] = {
    Metric.READ_BYTES_PER_S: _facts("ReadThroughput", 1, "bytes/s", "bytes read from storage"),
    Metric.WRITE_BYTES_PER_S: _facts("WriteThroughput", 1, "bytes/s", "bytes written to storage"),
    Metric.READ_OPS_PER_S: _facts("ReadIOPS", 1, "ops/s", "read operations completed"),
    Metric.WRITE_OPS_PER_S: _facts("WriteIOPS", 1, "ops/s", "write operations completed"),
    Metric.READ_LATENCY_S: _facts("ReadLatency", 1, "s", "mean time of a read"),
    Metric.WRITE_LATENCY_S: _facts("WriteLatency", 1, "s", "mean time of a write"),
    Metric.QUEUE_DEPTH: _facts("DiskQueueDepth", 1, "requests", "requests waiting or in service"),
    Metric.BYTE_BALANCE_RATIO: _facts("EBSByteBalance%", 0.01, "ratio", "instance throughput credits left"),
    Metric.IO_BALANCE_RATIO: _facts("EBSIOBalance%", 0.01, "ratio", "instance IOPS credits left"),
    Metric.VOLUME_BALANCE_RATIO: _facts("BurstBalance", 0.01, "ratio", "gp2 volume credits left"),
    Metric.CPU_RATIO: _facts("CPUUtilization", 0.01, "ratio", "CPU in use"),
    Metric.CPU_CREDITS: _facts("CPUCreditBalance", 1, "credits", "CPU credits saved"),
    Metric.CPU_SURPLUS_CREDITS: _facts("CPUSurplusCreditBalance", 1, "credits", "CPU credits borrowed"),
    Metric.CPU_SURPLUS_CREDITS_CHARGED: _facts("CPUSurplusCreditsCharged", 1, "credits", "CPU credits billed"),
    Metric.FREEABLE_MEMORY_BYTES: _facts("FreeableMemory", 1, "bytes", "memory that can be freed"),
    Metric.SWAP_BYTES: _facts("SwapUsage", 1, "bytes", "swap in use"),
    Metric.FREE_STORAGE_BYTES: _facts("FreeStorageSpace", 1, "bytes", "storage space left"),
    Metric.FREE_LOCAL_STORAGE_BYTES: _facts(
        "FreeLocalStorage", 1, "bytes", "Aurora: space left for temporary files and logs"
    ),
    Metric.CAPACITY_RATIO: _facts(
        "ACUUtilization", 0.01, "ratio", "Aurora Serverless: share of the largest capacity in use"
    ),
    Metric.CONNECTION_COUNT: _facts("DatabaseConnections", 1, "count", "client connections"),
    Metric.NETWORK_RECEIVE_BYTES_PER_S: _facts(
        "NetworkReceiveThroughput", 1, "bytes/s", "bytes received over the network"
    ),
    Metric.NETWORK_TRANSMIT_BYTES_PER_S: _facts(
        "NetworkTransmitThroughput", 1, "bytes/s", "bytes sent over the network"
    ),
    Metric.ACTIVE_SESSION_COUNT: _facts("DBLoad", 1, "count", "sessions at work, on average"),
    Metric.WAITING_SESSION_COUNT: _facts("DBLoadNonCPU", 1, "count", "sessions at work but waiting, on average"),
    Metric.IO_WAITING_SESSION_COUNT: _facts(None, 1, "count", "sessions waiting for I/O, on average"),
    Metric.TRANSACTIONS_PER_S: _facts(None, 1, "ops/s", "transactions ended"),
    Metric.ROLLBACKS_PER_S: _facts(None, 1, "ops/s", "transactions that ended without effect"),
    Metric.ARRIVALS_PER_S: _facts(None, 1, "ops/s", "jobs, requests or transactions that came, each once, done or not"),
    Metric.COMPLETIONS_PER_S: _facts(None, 1, "ops/s", "of what came, done"),
    Metric.WAITING_WORK_COUNT: _facts(None, 1, "count", "jobs, messages or transactions that wait to be taken up"),
    Metric.LOAD_AVERAGE: _facts(None, 1, "count", "load average of one minute"),
    Metric.DATABASE_READ_BYTES_PER_S: _facts(None, 1, "bytes/s", "bytes PostgreSQL asked the system to read"),
    Metric.DATABASE_WRITE_BYTES_PER_S: _facts(None, 1, "bytes/s", "bytes PostgreSQL asked the system to write"),
}

BY_CLOUDWATCH_NAME: dict[str, Metric] = {
    facts.cloudwatch: metric for metric, facts in METRICS.items() if facts.cloudwatch
}
