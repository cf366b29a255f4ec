"""
A fleet of fifty instances made by hand, so that every renderer has one of each kind to show.

Nothing here was measured; two instances are reported as simulated.
"""

from decimal import Decimal

from plimsoll.diagnosis.overview import overview_of
from plimsoll.model.ceiling import Dimension, Family, Phase
from plimsoll.model.diagnosis import Missing, Verdict
from plimsoll.model.instance import Instance, Storage
from plimsoll.model.overview import BoundTime, NearestResource, OverviewRow, RemainingAmount, UnreadInstance, Usage

END_S = 1_763_640_000  # 2025-11-20T12:00:00Z
DAY_S = 86_400
WINDOW = (END_S - DAY_S, END_S)
THROUGHPUT, IOPS = Dimension.THROUGHPUT, Dimension.IOPS


def instance(name, db_class="db.r5.2xlarge", **more):
    """An instance with some storage."""
    storage = more.pop("storage", Storage(kind="gp3", size_gib=1000))
    return Instance(
        identifier=name, db_class=db_class, engine="postgres", engine_version="15.4",
        region="eu-central-1", storage=storage, **more,
    )  # fmt: skip


def row(name, verdict=Verdict.SLACK, **more):
    """A row of an instance measured for a day by the minute."""
    fields = {
        "instance": instance(name),
        "window_s": WINDOW,
        "step_s": 60,
        "measured_s": float(DAY_S),
        "expected_s": float(DAY_S),
        "is_simulated": False,
        "verdict": verdict,
        "binding": None,
        "now": None,
        "nearest": None,
        "credits_left": None,
        "space_left": None,
        "latency_ratio": None,
        "gaps": (),
        "contexts": (),
    }
    return OverviewRow(**(fields | more))


def bound(family, phase, value, seconds, *, dimension=THROUGHPUT, legacy=None, count=1, ago_s=0):
    """Time at a ceiling that ended `ago_s` seconds before the end of the window."""
    last_s = END_S - ago_s
    return BoundTime(
        family=family,
        phase=phase,
        former_phase=legacy,
        dimension=dimension,
        value=value,
        seconds=float(seconds),
        share_ratio=seconds / DAY_S,
        interval_count=count,
        first_s=int(last_s - seconds - (count - 1) * 600),
        last_s=last_s,
    )


def near(name, family, ratio, verdict=Verdict.SLACK, *, unit="ops/s", headroom=100.0):
    """The nearest resource."""
    return NearestResource(family=family, name=name, verdict=verdict, peak_ratio=ratio, headroom=headroom, unit=unit)


LEGACY = bound(Family.INSTANCE_EBS_THROUGHPUT, Phase.LEGACY, 212.5e6, 33_120, legacy=Phase.BASELINE)
BASELINE = bound(Family.INSTANCE_EBS_THROUGHPUT, Phase.BASELINE, 86.875e6, 24_300, count=6, ago_s=3000)
BURST = bound(Family.INSTANCE_EBS_THROUGHPUT, Phase.BURST, 347.5e6, 1500)
VOLUME = bound(Family.VOLUME_IOPS, Phase.FIXED, 3000.0, 7200, dimension=IOPS, count=3, ago_s=40_200)
UNDOCUMENTED = bound(Family.UNKNOWN, Phase.FIXED, 81.34e6, 5400, count=2, ago_s=19_800)
NO_RATES = Missing(
    name="ReadIOPS, WriteIOPS, ReadThroughput and WriteThroughput",
    hides="verdict",
    remedy="Nothing can be said about storage without them. Export it, or allow "
    "cloudwatch:GetMetricData for the role that reads.",
)
NO_LATENCY = Missing(
    name="ReadLatency, WriteLatency and DiskQueueDepth",
    hides="verdict",
    remedy="Without them a steady load and a ceiling look alike.",
)
NO_CLASS = Missing(
    name="instance class",
    hides="the instance's documented limits",
    remedy="Give a describe-db-instances answer with --instance, or --class.",
)
CPU = Family.CPU

PRESSED = (
    row(
        "search-primary",
        Verdict.BINDS,
        instance=instance("search-primary", pending=("class db.r5.4xlarge",)),
        binding=LEGACY,
        now=LEGACY,
        credits_left=RemainingAmount(family=Family.INSTANCE_EBS_THROUGHPUT, ratio=0.0, empty_in_s=0.0),
        latency_ratio=7.04,
    ),
    row(
        "claims-pipeline-eu-central-1-loading",
        Verdict.BINDS,
        instance=instance("claims-pipeline-eu-central-1-loading", "db.t3.xlarge"),
        binding=BASELINE,
        now=BURST,
        credits_left=RemainingAmount(family=Family.INSTANCE_EBS_THROUGHPUT, ratio=0.12, empty_in_s=1140.0),
        latency_ratio=3.2,
        contexts=("lazy loading after a restore",),
    ),
    row(
        "billing",
        Verdict.BINDS,
        instance=instance("billing", "db.m6g.large"),
        binding=VOLUME,
        latency_ratio=12.0,
        space_left=RemainingAmount(family=Family.STORAGE_SPACE, ratio=0.09, empty_in_s=183_600.0),
    ),
    row("legacy-host", Verdict.BINDS, instance=Instance(identifier="legacy-host"),
        binding=UNDOCUMENTED, gaps=(NO_CLASS,), is_simulated=True),
)  # fmt: skip
NEAR = (
    row(
        "reports",
        Verdict.NEAR,
        nearest=near("volume IOPS", Family.VOLUME_IOPS, 0.93, Verdict.NEAR),
        credits_left=RemainingAmount(family=Family.VOLUME_IOPS, ratio=0.62, empty_in_s=11_923.0),
    ),
    row(
        "sessions",
        Verdict.NEAR,
        instance=instance("sessions", "db.r6gd.16xlarge"),
        nearest=near("connections", Family.CONNECTIONS, 0.871, Verdict.NEAR, unit="count"),
    ),
)
UNKNOWN = (
    *(row(f"replica-{n}", Verdict.UNKNOWN, measured_s=0.0, step_s=0, gaps=(NO_RATES,)) for n in (3, 1, 2)),
    row("audit", Verdict.UNKNOWN, gaps=(NO_LATENCY,)),
)  # fmt: skip
UNREAD = (
    *(
        UnreadInstance(
            identifier=f"restricted-{n}",
            reason="access denied to cloudwatch:GetMetricData",
            remedy="Allow cloudwatch:GetMetricData for this role.",
        )
        for n in (2, 1)
    ),
    UnreadInstance(
        identifier="creating-now",
        reason="the instance is being created and has no metrics yet",
        remedy="Ask again when it is available.",
    ),
)
SLACK = tuple(
    row(
        f"orders-{n:02}",
        nearest=near("CPU", CPU, 0.2 + n / 100, unit="ratio"),
        **(
            {"measured_s": 14_400.0} if n == 7
            else {"window_s": (WINDOW[0], END_S - 7200), "ends_early": False} if n == 9
            else {"gaps": (NO_CLASS,)} if n == 11
            else {}
        ),
    )
    for n in range(37)
)  # fmt: skip
ROWS = (*SLACK, *UNKNOWN, *NEAR, *PRESSED)
USAGE = Usage(
    calls=(("rds:DescribeDBInstances", 1), ("rds:DescribeEvents", 50), ("cloudwatch:GetMetricData", 152)),
    metrics_requested=12_350,
)


def fleet(rows=ROWS, unread=UNREAD, **more):
    """The fleet of fifty as an overview."""
    fields = {
        "window_s": WINDOW, "source": "rds:*", "usage": USAGE, "usd": Decimal("0.1235"),
    }  # fmt: skip
    return overview_of(rows, unread, **(fields | more))
