"""Samples, servers and circumstances for tests of a rehearsal."""

from dataclasses import replace
from decimal import Decimal

from paced import T3, THROUGHPUT
from plimsoll.kernel import Stage
from plimsoll.load.pace.law.allowance import has_bucket
from plimsoll.load.rehearse.law.cost import LoadSample, SampledIndex, ServerSetup
from plimsoll.load.rehearse.law.forecast import Circumstances
from plimsoll.load.rehearse.law.times import (
    LoadToForecast,
    cheapest_of,
    cost_of,
    forecast_of,
    time_of,
    with_price,
    work_span,
)
from plimsoll.model.rehearsal import Rehearsal

MB, GB = 1e6, 1e9

RANDOM = SampledIndex(name="by_id", method="btree", sample_bytes=3e6, present_bytes=0.0, scatter_ratio=1.0)
IN_ORDER = replace(RANDOM, scatter_ratio=0.0)
SAMPLE = LoadSample(
    input_bytes=10e6,
    row_count=100_000,
    table_bytes=12e6,
    wal_bytes=18e6,
    rates_bytes_per_s=(50e6, 40e6),
    is_rate_limited=False,
    indexes=(),
)
SERVER = ServerSetup(
    block_bytes=8192,
    buffers_bytes=4 * GB,
    cache_bytes=8 * GB,
    max_wal_bytes=2 * GB,
    segment_bytes=16 * 2**20,
    checkpoint_s=300,
    completion_ratio=0.9,
    has_images=True,
    is_compressed=False,
    has_autovacuum=False,
)
FIXED = Stage(name="volume_throughput", baseline=100 * MB, burst=100 * MB, counts="bytes")


def around(*chain: Stage, balance: float | None = 1.0, **fields) -> Circumstances:
    """A chain without reserve, headroom and others, unless `fields` say so."""
    stages = chain or T3
    return Circumstances(
        chain=stages,
        balances={s.name: balance for s in stages if has_bucket(s)} if balance is not None else {},
        **{"reserve_ratio": 0.0, "headroom_ratio": 0.0, "others_bytes_per_s": 0.0, "others_ops_per_s": 0.0, **fields},
    )


BUCKET = Stage(name=THROUGHPUT, baseline=50 * MB, burst=200 * MB, capacity=150 * GB, counts="bytes")


def rehearsal(**fields) -> Rehearsal:
    """10.2 GB on a db.t3.xlarge, with two classes; `fields` replace parts."""
    load = LoadToForecast(
        sample=replace(SAMPLE, indexes=(RANDOM,)),
        server=SERVER,
        input_bytes=10.2 * GB,
        finish_within_s=fields.get("finish_within_s"),
    )
    now = forecast_of(load, around(BUCKET, balance=fields.pop("balance", 0.05)))
    present = time_of(now, "db.t3.xlarge", is_present=True)
    faster = time_of(forecast_of(load, around(BUCKET)), "db.m5.xlarge", is_present=False)
    classes = (with_price(faster, Decimal("1.25")), with_price(faster, None))
    given = {
        "identifier": "orders",
        "source": "a test",
        "is_simulated": False,
        "table": "public.orders",
        "input_bytes": load.input_bytes,
        "reserve_ratio": 0.2,
        "finish_within_s": None,
        "cost": cost_of(load.sample, places=400, seconds=0.2),
        "work": work_span(forecast_of(load, around(BUCKET))),
        "present": present,
        "classes": classes,
        "cheapest": cheapest_of(present, classes),
        "prices_as_of": "2026-11-01",
        "notes": ("what others take is not known",),
    }
    return Rehearsal(**{**given, **fields})
