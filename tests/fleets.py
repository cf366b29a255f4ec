"""Fleets made by hand, so that every form and the page have one of each kind of row. Simulated, not measured."""

from decimal import Decimal

import msgspec
import numpy as np
from msgspec.structs import replace

from plimsoll.fleet.answers import fleet_report
from plimsoll.fleet.changes import changes_of
from plimsoll.model.fleet import FleetReport, FleetVerdict

DAY_S = 86_400
END_S = 1_795_694_400
WINDOW = (END_S - 7 * DAY_S, END_S)
BEFORE = (END_S - 14 * DAY_S, END_S - 7 * DAY_S)
LAKE = "s3://metrics/lake"


def row(instance: str, verdict: str = "slack", **more: object) -> FleetVerdict:
    """An instance that was measured for a week, near no limit."""
    fields: dict[str, object] = {
        "account": "123456789012",
        "region": "us-east-1",
        "db_class": "db.m6g.large",
        "engine": "postgres",
        "storage": "gp3",
        "storage_gib": 500.0,
        "is_simulated": True,
        "start_s": WINDOW[0],
        "end_s": WINDOW[1],
        "measured_s": 7.0 * DAY_S,
        "at_ceiling_s": 0.0,
        "at_ceiling_ratio": 0.0,
        "is_now": False,
        "waiting_s": 0.0,
        "usd_per_day": Decimal("5.5600"),
    }
    return FleetVerdict(instance=instance, verdict=verdict, **(fields | more))  # type: ignore[arg-type]


def bound(instance: str, ratio: float, **more: object) -> FleetVerdict:
    """An instance at its throughput limit for a share of the week."""
    fields: dict[str, object] = {
        "family": "instance_ebs_throughput",
        "phase": "baseline",
        "ceiling": 81.25e6,
        "dimension": "throughput",
        "at_ceiling_s": ratio * 7 * DAY_S,
        "at_ceiling_ratio": ratio,
        "option": "db.m6g.xlarge, storage as it is",
        "option_usd_per_day_more": Decimal("3.8200"),
        "option_chance": 0.83,
    }
    return row(instance, "binds", **(fields | more))


def tagged(**tags: str) -> str:
    """Tags as the table has them."""
    return msgspec.json.encode(tags, order="sorted").decode()


HOSTILE = "</script><img src=x onerror=alert(1)>\u202e"
ROWS = (
    bound("orders-primary", 0.41, is_now=True, tags=tagged(team="shop", env="prod")),
    bound(
        "search-primary",
        0.05,
        db_class="db.r5.2xlarge",
        phase="legacy",
        ceiling=212.5e6,
        tags=tagged(team="search"),
        legacy="db.r5.2xlarge, stopped and started, storage as it is",
        option_usd_per_day_more=None,
        usd_per_day=None,
        unreachable="you pay for 30,000 IOPS; this class can use 18,750 IOPS",
    ),
    bound(
        "ledger-primary",
        0.02,
        family="volume_iops",
        phase="fixed",
        ceiling=3000.0,
        dimension="iops",
        region="eu-central-1",
        tags=tagged(team="ledger"),
        option=None,
        option_usd_per_day_more=None,
        option_chance=None,
        plan_note="no class with enough memory has a price",
    ),
    row("audit-primary", waiting_s=5400.0, tags=tagged(team="ledger")),
    row(
        "reports-primary",
        "near",
        nearest="volume IOPS",
        nearest_ratio=0.93,
        emptying="volume_iops",
        empty_in_s=11_923.0,
        tags=tagged(team="shop"),
    ),
    row("billing-primary", emptying="storage_space", empty_in_s=5.2 * DAY_S, tags=tagged(team="shop")),
    row(
        "sessions-primary",
        db_class="db.r6g.xlarge",
        cheaper="db.r6g.large, storage as it is",
        cheaper_usd_per_day_more=Decimal("-5.4000"),
        cheaper_chance=0.7,
        usd_per_day=Decimal("12.4000"),
        tags=tagged(team="search"),
    ),
    row(
        "catalog-primary",
        db_class="db.r6g.xlarge",
        cheaper="db.r6g.large, storage as it is",
        cheaper_usd_per_day_more=Decimal("-5.4000"),
        cheaper_chance=1.0,
        usd_per_day=Decimal("12.4000"),
        tags=tagged(),
    ),
    row(
        "mail-primary",
        "unknown",
        reason="ReadIOPS and WriteIOPS",
        remedy="Include them in the metric stream.",
        usd_per_day=None,
        plan_note="storage was not measured",
    ),
    row(
        HOSTILE,
        "error",
        db_class=None,
        engine=None,
        usd_per_day=None,
        reason="a value of read_ops_per_s is negative",
        remedy="Check its source.",
        tags=tagged(team=HOSTILE),
    ),
)
ROWS_BEFORE = (
    bound("orders-primary", 0.11),
    row("search-primary", db_class="db.r5.2xlarge"),
    bound("ledger-primary", 0.2, region="eu-central-1", family="volume_iops", dimension="iops"),
    bound("audit-primary", 0.3),
    row("reports-primary", db_class="db.m6g.xlarge"),
    row("mail-primary"),
    row("retired-primary"),
)


def fleet(rows: tuple[FleetVerdict, ...] = ROWS, **more: object) -> FleetReport:
    """Ten instances, one of each kind, with groups and changes."""
    made: dict[str, object] = {"by": ("tag:team", "class"), "has_plan": True}
    report = fleet_report(rows, lake=LAKE, window_s=WINDOW, **(made | more))  # type: ignore[arg-type]
    changes = changes_of(ROWS_BEFORE, rows, named="the window before", window_s=BEFORE)
    return replace(report, changes=changes)


def many(count: int) -> FleetReport:
    """A fleet of any size, drawn from dice with a fixed seed."""
    dice = np.random.default_rng(17)
    classes = [
        f"db.{family}.{size}" for family in ("m6g", "r6g", "r5", "t3") for size in ("large", "xlarge", "2xlarge")
    ]
    kinds = dice.choice(5, count, p=(0.03, 0.07, 0.1, 0.02, 0.78)).tolist()
    numbers = dice.random((count, 4)).tolist()
    rows = []
    for index, (kind, (one, two, three, four)) in enumerate(zip(kinds, numbers, strict=True)):
        name = f"{('orders', 'search', 'ledger', 'audit', 'mail')[index % 5]}-{index:05d}"
        same = {
            "db_class": classes[int(one * len(classes))],
            "region": ("us-east-1", "eu-central-1", "eu-west-1")[int(two * 3)],
            "tags": tagged(team=f"team-{int(three * 40):02d}", env="prod" if four < 0.5 else "test"),
            "usd_per_day": Decimal(str(round(4 + 40 * one, 4))),
        }
        if kind < 2:
            rows.append(bound(name, round(four, 4), is_now=kind == 0, **same))
        elif kind == 2:
            peak = {"nearest": "volume IOPS", "nearest_ratio": 0.8 + 0.2 * two}
            rows.append(row(name, "near", emptying="storage_space", empty_in_s=4e6 * three, **peak, **same))
        elif kind == 3:
            rows.append(row(name, "unknown", reason="ReadIOPS and WriteIOPS", **same))
        else:
            less = {"cheaper": "a cheaper setup", "cheaper_usd_per_day_more": Decimal("-2.5"), "cheaper_chance": two}
            rows.append(row(name, **(less if three < 0.4 else {}), **same))
    return fleet_report(rows, lake=LAKE, window_s=WINDOW, has_plan=True, by=("tag:team",))
