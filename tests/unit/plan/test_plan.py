"""The whole plan for the bundled incidents and for windows made here."""

from decimal import Decimal
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

import builders
from books import Lacking
from builders import BALANCES, HOUR
from plimsoll.catalog.load import catalog
from plimsoll.catalog.prices import CatalogPrices
from plimsoll.diagnosis.diagnose import diagnose
from plimsoll.errors import UsageError
from plimsoll.model.ceiling import Dimension
from plimsoll.model.instance import Instance, Storage
from plimsoll.model.plan import Judgement, MoveKind, Option, Plan, PlanConstraints
from plimsoll.model.price import PriceBook
from plimsoll.model.snapshot import Snapshot
from plimsoll.model.snapshot_file.codec import decode_snapshot
from plimsoll.plan.plan import MOST, plan

EXAMPLES = Path(__file__).parents[3] / "examples"
DAY = 24 * HOUR


@cache
def of_example(name: str, **constraints) -> Plan:
    """The plan for an example, searched once in a session."""
    return planned(example(name), **constraints)


def planned(snapshot: Snapshot, book: PriceBook | None = None, *, today: str | None = None, **constraints) -> Plan:
    book = book or CatalogPrices(catalog(), snapshot.instance.region or "us-east-1")
    found = diagnose(snapshot, catalog())
    return plan(found, snapshot, catalog(), book, PlanConstraints(**constraints), today=today)


@cache
def example(name: str) -> Snapshot:
    return decode_snapshot((EXAMPLES / name / "snapshot.json").read_bytes())


def in_role(found: Plan, role: str) -> list[Option]:
    return [option for option in found.options if option.role == role]


def instance(db_class: str = "db.m5.large", **storage) -> Instance:
    bought = {"kind": "gp3", "size_gib": 200.0} | storage
    return Instance(
        identifier="orders", db_class=db_class, engine="postgres", region="us-east-1", storage=Storage(**bought)
    )


def day(level: float, *, hours: int = 6, **more) -> dict:
    """A simulated day with some hours behind a level, a quarter of it otherwise."""
    demand = np.full(DAY, 0.25 * level)
    demand[6 * HOUR : (6 + hours) * HOUR] = 2 * level
    return builders.held_at(demand, level, rng=np.random.default_rng(5), **more)


def test_the_search_service_is_stopped_and_started_first():
    """
    It is free and brings 287.5 MB/s for 212.5; whether that suffices depends on what was not seen. The
    IOPS baseline, exceeded for hours, is not counted; its maximum, which was not, is.
    """
    found = of_example("search-service")
    restart = found.options[0]

    assert ("free", Decimal(0)) == (restart.role, restart.usd_per_day_more)
    assert (Dimension.IOPS, 18_750) == (restart.effect.next_ceiling.dimension, restart.effect.next_ceiling.value)
    assert Judgement.UNSURE == restart.judgement
    assert restart.settled_by
    took, takes = (o.effect.work.chained_minutes for o in (found.present, restart))
    assert takes < 0.8 * took
    assert found.headline.startswith("stop and start it first: free")
    # What a free move is goes before its reason; what spread work will see is not known.
    assert ". EC2 documents that a stop and start applies the present limits. " in restart.reason
    assert restart.reason.partition("present limits. ")[2][0].isupper()
    (spread,) = [o for o in found.options if o.moves and o.moves[0].kind is MoveKind.SCHEDULE]
    assert ". This is enough if" in spread.reason
    assert "e+" not in spread.reason
    assert spread.effect.latency_s_mean is None
    assert any("12,000 IOPS for hours, so that limit is not enforced" in note for note in found.notes)


def test_what_suffices_is_reported_and_only_cheaper_ones_are_shown():
    """Nothing bound: a smaller class is proposed as far as CPU, memory and connections fit it."""
    found = of_example("quiet")

    assert Judgement.LIFTS == found.present.judgement
    assert found.headline.startswith("no change is needed")
    assert "no limit of storage was reached" in found.present.reason
    assert found.options
    assert all(o.usd_per_day_more < 0 for o in found.options)
    assert all(o.judgement is Judgement.LIFTS for o in found.options)


def test_a_limit_without_a_document_is_never_reported_as_lifted():
    """No catalog names 40 MB/s for this class: whether another one has that limit is not known."""
    found = planned(builders.snapshot(day(40e6), instance=instance()))

    assert Judgement.DOES_NOT == found.present.judgement
    assert all(o.judgement is not Judgement.LIFTS for o in (*found.options, *found.unpriced))
    assert "no change is sure to lift it" in found.headline
    assert in_role(found, MOST)
    assert any("is undocumented" in note for note in found.notes)


@pytest.mark.parametrize(("usd", "is_below"), [(14, False), (5, True)])
def test_a_budget_is_kept(usd: int, is_below: bool):
    """Nothing is proposed that costs more in a day than was allowed; a budget below what is paid now is reported."""
    found = of_example("claims-pipeline", usd_per_day_max=Decimal(usd))
    said = any(f"costs $11.50 a day, more than the ${usd}.00 you allow" in note for note in found.notes)

    assert found.options or is_below
    assert all(o.role == "free" if is_below else o.cost.usd_per_day <= usd for o in found.options)
    assert is_below == said
    assert is_below or not (found.unpriced or any("that were allowed" in note for note in found.notes))


@pytest.mark.parametrize(("wish", "stays"), [("keep_class", "db_class"), ("keep_storage", "storage")])
def test_what_shall_stay_stays(wish: str, stays: str):
    """Class or storage, in every option."""
    found = of_example("claims-pipeline", **{wish: True})
    now = getattr(found.instance, stays)

    assert all(getattr(o.instance, stays) == now for o in found.options)


def test_everything_that_is_shown_is_shown_once():
    """An arrangement that is the cheapest in several roles has its first."""
    for name in ("claims-pipeline", "search-service", "quiet"):
        found = of_example(name)
        shown = [(o.instance, o.disruption.is_restart) for o in found.options]

        assert len(shown) == len(set(map(repr, shown)))


def test_credits_that_ran_out_show_what_was_asked_for():
    """Demand was seen while credits lasted, so a change with enough capacity is judged to lift the ceiling."""
    limits = catalog().instance_limits("db.m5.large")
    baseline = limits.ebs_baseline_bytes_per_s
    demand = np.full(2 * DAY, 0.2 * baseline)
    for start in (6 * HOUR, DAY + 6 * HOUR):
        demand[start : start + 5 * HOUR] = 2.0 * baseline
    served, balance = demand.copy(), np.ones(2 * DAY)
    for start in (6 * HOUR, DAY + 6 * HOUR):
        served[start + HOUR : start + 5 * HOUR] = baseline
        balance[start : start + HOUR] = np.linspace(1, 0, HOUR)
        balance[start + HOUR : start + 5 * HOUR] = 0.0
    latency = np.where(served < demand, 0.02, 0.0008)
    mine = builders.storage(served, size_bytes=32_768, latency_s=latency)
    mine[BALANCES[0]] = balance
    found = planned(builders.snapshot(mine, instance=instance(size_gib=500.0)))
    sure = [o for o in found.options if o.judgement is Judgement.LIFTS]

    assert Judgement.DOES_NOT == found.present.judgement
    assert sure
    assert sure[0].effect.next_ceiling.value >= 1.9 * baseline or sure[0].probability >= 0.95
    assert found.demand.peak_bytes_per_s.middle == pytest.approx(2.0 * baseline, rel=0.15)


def test_wishes_that_contradict_each_other_are_refused():
    """In one sentence, before anything is replayed."""
    with pytest.raises(UsageError):
        of_example("claims-pipeline", keep_class=True, deny=("db.t3.xlarge",))


def test_an_unknown_license_leaves_options_without_a_price_until_it_is_given():
    """Oracle is sold with and without its licence: no guess is made, and the reason is given."""
    oracle = replace(instance(kind="gp2", size_gib=200.0), engine="oracle-se2", license_model=None)
    mine = builders.snapshot(day(57e6), instance=oracle)
    altered = replace(mine, instance=replace(oracle, license_model="license-included"))

    unknown, known = planned(mine), planned(altered)

    changed = [o for o in (*unknown.options, *unknown.unpriced) if o.instance.db_class]
    other = [o for o in changed if o.instance.db_class != oracle.db_class]
    assert other
    assert all(o.cost.usd_per_month is None for o in other)
    assert any("--license" in sentence for o in other for sentence in o.cost.unknown)
    assert any(o.cost.usd_per_month for o in known.options)


def test_a_requested_standby_is_ordered_and_reported():
    """Prices are with it, also of what is there; the command brings it, and a note says what it is now."""
    found = of_example("claims-pipeline", multi_az=True)
    options = [o for o in found.options if o.commands]

    assert options
    assert all("--multi-az" in o.commands[-1] for o in options)
    assert any(
        note.startswith("All prices are with a standby") and "current setup costs $11.50 a day" in note
        for note in found.notes
    )
    assert not any("--multi-az" in line for o in of_example("claims-pipeline").options for line in o.commands)


def test_what_has_a_price_is_ranked_by_it_where_what_is_paid_now_has_none():
    """
    Without a price of io1 it is not known what another storage costs more; what that costs is, and so it
    is no option without a price.
    """
    bought = instance("db.m6g.4xlarge", kind="io1", size_gib=305.0, provisioned_ops_per_s=2000.0)
    mine = builders.snapshot(
        builders.storage(
            np.where(np.arange(DAY) % (8 * HOUR) < 6 * HOUR, 2000.0, 900.0) * 16_384,
            size_bytes=16_384,
            latency_s=np.where(np.arange(DAY) % (8 * HOUR) < 6 * HOUR, 0.03, 0.0008),
        ),
        instance=replace(bought, multi_az=True),
    )
    found = planned(mine, Lacking(lambda what: what.startswith("io1")))
    other = [o for o in found.options if o.usd_per_day_more is None and o.commands]
    costs = [o.cost.usd_per_day for o in other]

    assert found.present.cost.usd_per_day is None
    assert other
    assert None not in costs
    assert costs == sorted(costs)
    assert all(o.cost.usd_per_day is None for o in found.unpriced)


def test_prices_older_than_a_year_say_their_date():
    """
    The oldest price of what is shown is db.t3.xlarge's, of 2025-10-15; how old that is, the caller says,
    and without a word of his the window does.
    """
    years = {today: of_example("claims-pipeline", today=today) for today in (None, "2026-10-15", "2026-10-16")}

    assert {"2025-10-15"} == {found.prices_as_of for found in years.values()}
    assert [False, False, True] == [found.are_prices_old for found in years.values()]


@pytest.mark.parametrize("name", ["claims-pipeline", "search-service"])
def test_no_option_lies_above_the_most_that_can_be_had(name: str):
    """The line, the table and the options count the same: what is served at once of the middle demand."""
    found = of_example(name)
    line = [point for point in found.curve if not point.is_present]
    priced = [o for o in found.options if o.commands and o.cost.usd_per_month is not None]

    assert priced
    for option in priced:
        most = max(point.served_ratio.middle for point in line if point.usd_per_month <= option.cost.usd_per_month)
        assert option.effect.served_ratio.middle <= most
