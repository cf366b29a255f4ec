"""A limit sheet made by hand."""

from plimsoll.model.ceiling import Family
from plimsoll.model.instance import Instance, Storage
from plimsoll.model.sheet import ChainRate, Knee, LimitSheet, SheetRow

KIB = 1024.0


def rate(mb: float, iops: float, binding: Family = Family.VOLUME_IOPS) -> ChainRate:
    return ChainRate(bytes_per_s=mb * 1e6, ops_per_s=iops, binding=binding)


def row(kib: float, held: ChainRate, most: ChainRate | None = None) -> SheetRow:
    return SheetRow(io_size_bytes=kib * KIB, baseline=held, burst=most or held)


ROWS = (
    row(8, rate(24.576, 3000), rate(98.304, 12_000)),
    row(1024, rate(287.5, 274, Family.INSTANCE_EBS_THROUGHPUT), rate(593.75, 566)),
)
KNEE = Knee(
    io_size_bytes=96 * KIB,
    bytes_per_s=287.5e6,
    ops_per_s=3000,
    below=Family.VOLUME_IOPS,
    above=Family.INSTANCE_EBS_THROUGHPUT,
)


def sheet(rows: tuple[SheetRow, ...] = ROWS, **fields: object) -> LimitSheet:
    plain = LimitSheet(
        instance=Instance(db_class="db.r5.2xlarge", engine="postgres", storage=Storage(kind="gp2", size_gib=1000)),
        volume_count=4,
        rows=rows,
        knee=KNEE,
        burst_knee=None,
        curve=rows,
        stages=(),
        ceilings=(),
        balances=(),
        unreachable=(),
        origins=(),
        notes=(),
    )
    return LimitSheet(**({f: getattr(plain, f) for f in plain.__struct_fields__} | fields))
