"""The price–performance curve."""

from itertools import pairwise

import numpy as np
import pytest

from books import Lacking
from plan_cases import asked, calm, claims, offered
from plimsoll.catalog.load import catalog
from plimsoll.catalog.prices import CatalogPrices
from plimsoll.model.instance import Instance
from plimsoll.model.plan import CurvePoint, PlanConstraints
from plimsoll.plan.judge.curve import Demands, curve_of, envelope, served_at_once
from plimsoll.plan.judge.vectors import LimitColumn, LimitVectors, vectors_of
from plimsoll.plan.market.priced import priced

DAY = 1440
SIZE = 64 * 1024


def steady(mb_per_s: float):  # type: ignore[no-untyped-def]
    return asked(np.full(DAY, mb_per_s * 1e6 / SIZE), SIZE)


def curve(before: Instance, low: float, middle: float, high: float) -> tuple[CurvePoint, ...]:
    """The curve of an instance that keeps its storage, for three steady demands, MB/s."""
    known = calm(before, cpu_ratio=0.4005)  # two vCPUs would be more than 80 % busy
    found = offered(before, known, keep_storage=True)
    prices = priced(
        found, CatalogPrices(catalog(), "us-east-1"), needs=known, constraints=PlanConstraints(), catalog=catalog()
    )
    demands = Demands(low=steady(low), middle=steady(middle), high=steady(high))
    return curve_of(found, vectors_of(found, catalog()), prices, demands)


def test_a_steady_demand_is_served_by_what_the_limit_is_of_it():
    """100 of 160 MB/s are 62.5 %; half of the day at 150 and half at 50 are 150 of 200."""
    slot = LimitColumn("instance_ebs_throughput", "bytes", None)
    vectors = LimitVectors(slots=(slot,), limits=np.array([[[1e8, 1e8, 0.0]]]), of=np.zeros(1, dtype=np.int64))
    halves = asked(np.repeat([150e6, 50e6], DAY // 2) / SIZE, SIZE)
    which = np.zeros(1, dtype=np.int64)

    assert served_at_once(vectors, which, steady(160))[0] == pytest.approx(0.625)
    assert served_at_once(vectors, which, halves)[0] == pytest.approx(150 / 200)


def test_no_demand_is_served_whole():
    """Nothing asked for is nothing refused."""
    vectors = LimitVectors(slots=(), limits=np.empty((1, 0, 3)), of=np.zeros(1, dtype=np.int64))

    assert served_at_once(vectors, np.zeros(1, dtype=np.int64), steady(0)).tolist() == [1.0]


def test_the_envelope_rises_by_steps_and_ends_at_the_whole():
    """A percent more is no new point, unless it is the last one."""
    assert envelope([0.5, 0.51, 0.4, 0.6, 0.99, 1.0, 1.0]) == [0, 3, 4, 5]


def test_the_curve_of_the_claims_pipeline_ends_where_all_is_served():
    """At 140 MB/s db.m6g.xlarge serves all; db.t3.xlarge is shown for comparison."""
    points = curve(claims(), 140, 140, 140)

    assert points[-1].name == "db.m6g.xlarge, gp2 1,200 GiB"
    assert points[-1].served_ratio.low == pytest.approx(1.0)
    (present,) = [point for point in points if point.is_present]
    # 86.875 MB/s all day and 260.625 MB/s × 30 minutes of credits, of 140 MB/s all day.
    served = (86.875 * 86_400 + 260.625 * 1800) / (140 * 86_400)
    assert present.served_ratio.middle == pytest.approx(served, rel=1e-6)
    assert all(a.usd_per_month < b.usd_per_month for a, b in pairwise(points))


def test_the_band_holds_the_share_of_the_high_demand_below_that_of_the_low():
    """What serves all of the low demand serves half of one twice its limit."""
    points = curve(claims(), 50, 140, 297)

    last = points[-1]
    assert last.served_ratio.high == pytest.approx(1.0)
    assert last.served_ratio.middle == pytest.approx(1.0)
    assert last.served_ratio.low < 0.6
    for point in points:
        assert point.served_ratio.low <= point.served_ratio.middle <= point.served_ratio.high


def test_without_prices_there_is_no_curve():
    """A price that is not known is no place on an axis."""
    before = claims()
    found = offered(before, keep_storage=True)
    prices = priced(
        found, Lacking(lambda what: True), needs=calm(before), constraints=PlanConstraints(), catalog=catalog()
    )
    demands = Demands(low=steady(50), middle=steady(60), high=steady(70))

    assert curve_of(found, vectors_of(found, catalog()), prices, demands) == ()
