"""
Read Enhanced Monitoring: one document of the log group RDSOSMetrics per interval of 1 to 60 s.

`physicalDeviceIO` lists the EBS volumes after the system has merged requests, so it counts the same
requests as EBS; `diskIO` counts before merging. Kilobytes are 1,024 bytes. `avgReqSz` is documented in
kilobytes but is in 512-byte sectors (kB/s ÷ operations/s shows it), so it is not read: the size is bytes
divided by operations. A document describes the interval that ends at `timestamp`. Memory is not read as
FreeableMemory: the document has no MemAvailable, and free or cached memory alone would be wrong by
gigabytes.
Source: Amazon RDS User Guide, "OS metrics in Enhanced Monitoring".
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
from msgspec import Struct

from plimsoll.errors import DataError
from plimsoll.model.instance import Instance, Storage
from plimsoll.model.metric import Metric
from plimsoll.model.snapshot import Gap
from plimsoll.sources.files.json_text import as_type, decode, lines
from plimsoll.sources.reading.reading import Block, Channel, Reading
from plimsoll.sources.values.shown import shown
from plimsoll.sources.values.steps import usual_step_s
from plimsoll.sources.values.times import epoch_seconds
from plimsoll.units import kib, ratio_of_percent

DEFAULT_STEP_S = 60
"""Default interval of RDS, used if a single document cannot show its interval."""

LATENCY_GAP = Gap(
    metric="read_latency_s, write_latency_s",
    reason="Enhanced Monitoring reports one wait for reads and writes together",
    remedy="Export ReadLatency and WriteLatency from CloudWatch to tell them apart.",
)
LOGICAL_GAP = Gap(
    metric="read_ops_per_s, write_ops_per_s",
    reason="no physicalDeviceIO, so operations are counted before the system merges them",
    remedy="Export ReadIOPS and WriteIOPS from CloudWatch, or newer Enhanced Monitoring documents.",
)


_DEVICE_NAMES = {
    "read_ops": "readIOsPS",
    "write_ops": "writeIOsPS",
    "read_kb": "readKbPS",
    "write_kb": "writeKbPS",
    "wait_ms": "await",
    "queue": "avgQueueLen",
    "mount_point": "mountPoint",
    "read_bytes": "readThroughput",
    "write_bytes": "writeThroughput",
    "read_ms": "readLatency",
    "write_ms": "writeLatency",
    "aurora_queue": "diskQueueDepth",
}


class _Device(Struct, rename=_DEVICE_NAMES):
    device: str | None = None
    mount_point: str | None = None
    read_ops: float | None = None
    write_ops: float | None = None
    read_kb: float | None = None
    write_kb: float | None = None
    wait_ms: float | None = None
    queue: float | None = None
    # Aurora's entry of diskIO has no device, but these fields.
    read_bytes: float | None = None
    write_bytes: float | None = None
    read_ms: float | None = None
    write_ms: float | None = None
    aurora_queue: float | None = None


class _Cpu(Struct):
    total: float | None = None


class _Load(Struct):
    one: float | None = None


class _HostMemory(Struct):
    total: float | None = None
    """KiB"""


class _Swap(Struct):
    total: float | None = None
    free: float | None = None


class _Interface(Struct):
    interface: str | None = None
    rx: float | None = None
    tx: float | None = None


class _FileSystem(Struct, rename={"mount_point": "mountPoint"}):
    name: str | None = None
    mount_point: str | None = None
    total: float | None = None
    used: float | None = None


_DOCUMENT_NAMES = {
    "instance_id": "instanceID",
    "vcpu_count": "numVCPUs",
    "cpu": "cpuUtilization",
    "load": "loadAverageMinute",
    "disks": "diskIO",
    "devices": "physicalDeviceIO",
    "file_systems": "fileSys",
}


class MonitoringDocument(Struct, rename=_DOCUMENT_NAMES):
    """The document of one interval; unused fields are skipped while decoding."""

    timestamp: str | int | float
    instance_id: str | None = None
    engine: str | None = None
    vcpu_count: int | None = None
    cpu: _Cpu | None = None
    load: _Load | None = None
    memory: _HostMemory | None = None
    swap: _Swap | None = None
    network: list[_Interface] = []
    disks: list[_Device] = []
    devices: list[_Device] = []
    file_systems: list[_FileSystem] = []


class _Event(Struct):
    message: str


class _Events(Struct, rename={"log_events": "logEvents"}):
    events: list[_Event] = []
    log_events: list[_Event] = []


_COLUMNS = (
    Metric.READ_BYTES_PER_S,
    Metric.WRITE_BYTES_PER_S,
    Metric.READ_OPS_PER_S,
    Metric.WRITE_OPS_PER_S,
    Metric.READ_LATENCY_S,
    Metric.WRITE_LATENCY_S,
    Metric.QUEUE_DEPTH,
    Metric.CPU_RATIO,
    Metric.LOAD_AVERAGE,
    Metric.SWAP_BYTES,
    Metric.NETWORK_RECEIVE_BYTES_PER_S,
    Metric.NETWORK_TRANSMIT_BYTES_PER_S,
    Metric.FREE_STORAGE_BYTES,
)
Row = tuple[float | None, ...]


class _Host:
    """Values from the documents of one instance."""

    def __init__(self) -> None:
        self.times: list[object] = []
        self.rows: list[Row] = []
        self.volume_counts: set[int] = set()
        self.has_logical = False
        self.has_joint_wait = False
        self.last: MonitoringDocument | None = None

    def add(self, document: MonitoringDocument) -> None:
        storage = self._storage(document)
        self.times.append(document.timestamp)
        self.rows.append((*storage, *_system(document)))
        self.last = document

    def _storage(self, document: MonitoringDocument) -> Row:
        if document.devices:
            main = [d for d in document.devices if d.mount_point in (None, "", "/rdsdbdata")]
            self.volume_counts.add(len(main))
            self.has_joint_wait = True
            return _sum_of(document.devices)
        for disk in document.disks:
            if disk.device is None and disk.read_bytes is not None:
                return _aurora(disk)
        logical = [d for d in document.disks if (d.device or "").startswith("rdsd")]
        if not logical:
            return (None,) * 7
        self.has_logical = self.has_joint_wait = True
        return _sum_of(logical)


def read_lines(data: bytes, reading: Reading, *, where: str) -> int:
    """
    Add a file with one document per line to a reading.

    Returns:
        The number of lines that are not documents: cut off, or of another shape.
    """
    hosts: dict[str | None, _Host] = {}
    bad_lines = 0
    for documents, bad in lines(data, MonitoringDocument, where):
        bad_lines += bad
        _gather(documents, hosts)
    _hand_over(hosts, reading)
    return bad_lines


def read_documents(documents: list[Any], reading: Reading, *, where: str) -> None:
    """
    Add documents that are already decoded to a reading.

    Raises:
        DataError: a document of another shape.
    """
    hosts: dict[str | None, _Host] = {}
    _gather(as_type(documents, list[MonitoringDocument], where), hosts)
    _hand_over(hosts, reading)


def read_log_events(document: Any, reading: Reading, *, where: str) -> int:
    """
    Add the answer of `aws logs get-log-events`, `filter-log-events` or a subscription record.

    Returns:
        The number of messages that are not documents.

    Raises:
        DataError: no event at all, or none that is a document.
    """
    answer = as_type(document, _Events, where)
    messages = [e.message for e in (*answer.events, *answer.log_events)]
    documents: list[MonitoringDocument] = []
    bad = 0
    for message in messages:
        try:
            raw = decode(message.encode("utf-8", errors="replace"), where)
            documents.append(as_type(raw, MonitoringDocument, where))
        except DataError:
            bad += 1
    if not documents:
        raise DataError(
            f"{where} has log events, but no document of Enhanced Monitoring",
            "Export the log group RDSOSMetrics with 'aws logs get-log-events'.",
        )
    hosts: dict[str | None, _Host] = {}
    _gather(documents, hosts)
    _hand_over(hosts, reading)
    return bad


def _gather(documents: Iterable[MonitoringDocument], hosts: dict[str | None, _Host]) -> None:
    for document in documents:
        hosts.setdefault(document.instance_id or None, _Host()).add(document)


def _hand_over(hosts: dict[str | None, _Host], reading: Reading) -> None:
    for instance, host in hosts.items():
        time_s, readable = epoch_seconds(host.times)
        reading.bad_times += int((~readable).sum())
        if not readable.any():
            continue
        ends = time_s[readable]
        step_s = usual_step_s(ends) or DEFAULT_STEP_S
        table = np.array(host.rows, dtype=np.float64)[readable]
        for column, metric in enumerate(_COLUMNS):
            given = ~np.isnan(table[:, column])
            if given.any():
                reading.blocks.append(
                    Block(
                        name=metric.value,
                        metric=metric,
                        instance=instance,
                        time_s=ends[given] - step_s,
                        value=table[given, column],
                        period_s=step_s,
                        origin=Channel.ENHANCED_MONITORING,
                    )
                )
        _remark(instance, host, reading)


def _remark(instance: str | None, host: _Host, reading: Reading) -> None:
    """Add facts about the instance, and gaps for what the documents do not contain."""
    assert host.last is not None
    memory = host.last.memory.total if host.last.memory else None
    counts = host.volume_counts
    is_count_known = len(counts) == 1 and min(counts) >= 1
    reading.hints.append(
        Instance(
            identifier=instance or "unnamed",
            engine=shown(host.last.engine.lower(), 63) if host.last.engine else None,
            storage=Storage(volume_count=next(iter(counts)) if is_count_known else None),
            vcpu_count=_positive_int(host.last.vcpu_count),
            memory_bytes=_positive_int(None if memory is None else kib(memory)),
        )
    )
    if host.has_joint_wait:
        reading.remarks[Metric.READ_LATENCY_S] = LATENCY_GAP
        reading.remarks[Metric.WRITE_LATENCY_S] = LATENCY_GAP
    if host.has_logical:
        reading.remarks[Metric.READ_OPS_PER_S] = LOGICAL_GAP
        reading.remarks[Metric.WRITE_OPS_PER_S] = LOGICAL_GAP


def _sum_of(devices: list[_Device]) -> Row:
    """
    Return the seven storage columns of an instance: rates summed, waits weighted by operations.

    `await` is one wait for reads and writes. It is exact if only one of them happened; if both did, it
    stands for both, which LATENCY_GAP states.
    """
    reads, writes = _add(d.read_ops for d in devices), _add(d.write_ops for d in devices)
    weighted = [(d.wait_ms, (d.read_ops or 0.0) + (d.write_ops or 0.0)) for d in devices if d.wait_ms is not None]
    operations = sum(weight for _, weight in weighted)
    wait_s = sum(ms * weight for ms, weight in weighted) / operations / 1e3 if operations else None
    read_kb, write_kb = _add(d.read_kb for d in devices), _add(d.write_kb for d in devices)
    return (
        None if read_kb is None else kib(read_kb),
        None if write_kb is None else kib(write_kb),
        reads,
        writes,
        wait_s if reads else None,
        wait_s if writes else None,
        _add(d.queue for d in devices),
    )


def _aurora(disk: _Device) -> Row:
    return (
        disk.read_bytes,
        disk.write_bytes,
        disk.read_ops,
        disk.write_ops,
        None if disk.read_ms is None else disk.read_ms / 1e3,
        None if disk.write_ms is None else disk.write_ms / 1e3,
        disk.aurora_queue,
    )


def _system(document: MonitoringDocument) -> Row:
    cpu = document.cpu.total if document.cpu else None
    swap = document.swap or _Swap()
    interfaces = [i for i in document.network if i.interface != "lo"]
    space = None
    for file_system in document.file_systems:
        if file_system.mount_point == "/rdsdbdata" and file_system.name == "rdsfilesys":
            space = _kib_between(file_system.used, file_system.total)
    return (
        None if cpu is None else ratio_of_percent(cpu),
        document.load.one if document.load else None,
        _kib_between(swap.free, swap.total),
        _add(i.rx for i in interfaces),
        _add(i.tx for i in interfaces),
        space,
    )


def _add(values: Iterable[float | None]) -> float | None:
    known = [v for v in values if v is not None]
    return sum(known) if known else None


def _kib_between(low: float | None, high: float | None) -> float | None:
    return None if low is None or high is None else kib(high - low)


def _positive_int(value: float | None) -> int | None:
    return int(value) if value is not None and 0 < value < 1e16 else None
