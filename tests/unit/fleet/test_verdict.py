"""One function gives the verdict of an instance: from its points alone, and never with an exception."""

import random
from decimal import Decimal

import msgspec
import pyarrow as pa
import pytest
from msgspec import UNSET

import plans
from fixtures.aws.simulated import example
from plimsoll.app.diagnose import diagnose_snapshot
from plimsoll.app.lake.files import snapshot_points
from plimsoll.app.lake.ingest import _description
from plimsoll.app.lake.verdict import verdict_function
from plimsoll.fleet.parts import parts_of
from plimsoll.fleet.tables import DESCRIBED, POINTS
from plimsoll.fleet.verdict import VerdictLaw, instance_verdict, snapshot_of
from plimsoll.model.fleet import FleetVerdict
from plimsoll.model.plan import FirstOptions, Judgement, Option, Plan
from plimsoll.model.snapshot import Snapshot

STORY = "search-service"


def tables(name: str = STORY) -> tuple[pa.Table, pa.Table]:
    snapshot = example(name)
    days = [part.cast(POINTS) for _, part in parts_of(snapshot_points(snapshot), 1)]
    points = pa.concat_tables(days).combine_chunks()
    start_s = (snapshot.window_s or (0, 0))[0]
    return points, pa.Table.from_pylist([_description(snapshot, start_s)], schema=DESCRIBED)


def bytes_of(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def verdict(points: pa.Table, described: pa.Table, *, has_plan: bool = False) -> pa.Table:
    return verdict_function(window_s=None, has_plan=has_plan)(points, described)


def test_points_become_the_snapshot_they_were():
    points, described = tables()
    expected: Snapshot = example(STORY)

    assert dict(expected.series) == dict(snapshot_of(points, described).series)


def test_a_limit_is_found_with_what_is_paid_for_and_what_would_help():
    row = msgspec.convert(verdict(*tables(), has_plan=True).to_pylist()[0], FleetVerdict)

    assert ("binds", "instance_ebs_throughput", 212.5e6) == (row.verdict, row.family, row.ceiling)
    assert "you pay for 30,000 IOPS; this class can use 18,750 IOPS" == row.unreachable
    assert "db.r5.2xlarge, stopped and started, storage as it is" == row.legacy
    assert row.option is not None


def test_the_order_of_points_changes_no_byte():
    points, described = tables()
    places = list(range(points.num_rows))
    random.Random(1).shuffle(places)

    assert bytes_of(verdict(points, described)) == bytes_of(verdict(points.take(places), described))


def test_columns_of_another_engine_change_no_byte():
    """Spark hands over other string types and further columns."""
    points, described = tables()
    large = points.set_column(3, "metric", points.column("metric").cast(pa.large_string()))

    assert bytes_of(verdict(points, described)) == bytes_of(verdict(large, described))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1.0])
def test_a_poisoned_instance_is_one_error_row(value: float):
    points, described = tables()
    sums = points.column("sum").to_pylist()
    sums[7] = value
    broken = points.set_column(5, "sum", pa.array(sums))
    found = verdict(broken, described).to_pylist()

    assert [("error", STORY)] == [(row["verdict"], row["instance"]) for row in found]
    assert "of 'search-service' is" in found[0]["reason"]


def test_a_zero_below_zero_is_a_zero():
    """A sum of −0.0 is a value, and no mistake of the source."""
    points, described = tables()
    sums = [-0.0, *points.column("sum").to_pylist()[1:]]
    zeros = [0.0, *sums[1:]]
    place = points.schema.get_field_index("sum")
    below, plain = (verdict(points.set_column(place, "sum", pa.array(one)), described) for one in (sums, zeros))

    assert "error" != plain.column("verdict")[0].as_py()
    assert bytes_of(plain) == bytes_of(below)


def test_a_description_that_cannot_be_read_is_one_error_row():
    points, described = tables()
    broken = described.set_column(10, "described", pa.array(["{"]))
    found = verdict(points, broken).to_pylist()

    assert ["error"] == [row["verdict"] for row in found]
    assert found[0]["reason"].startswith("the diagnosis failed: internal error DecodeError")


def test_points_before_a_change_of_class_are_left_out():
    points, described = tables()
    before = described.to_pylist()[0]
    times = points.column("time_s").to_pylist()
    middle_s = (min(times) + max(times)) // 2
    smaller = before["described"].replace("db.r5.2xlarge", "db.r5.xlarge")
    both = [before | {"described": smaller, "valid_to_s": middle_s}, before | {"valid_from_s": middle_s}]
    snapshot = snapshot_of(points, pa.Table.from_pylist(both, schema=DESCRIBED))

    assert "db.r5.2xlarge" == snapshot.instance.db_class
    assert snapshot.window_s is not None
    assert middle_s <= snapshot.window_s[0]


def described_twice(first: object, second: object) -> pa.Table:
    """Two descriptions of the instance that differ in tags, the second from the middle of the window on."""
    snapshot = example(STORY)
    start_s, end_s = snapshot.window_s or (0, 0)
    rows = []
    for time_s, tags in ((start_s, first), (start_s + (end_s - start_s) // 2, second)):
        instance = msgspec.structs.replace(snapshot.instance, tags=tags)
        rows.append(_description(msgspec.structs.replace(snapshot, instance=instance), time_s))
    return pa.Table.from_pylist(rows, schema=DESCRIBED)


@pytest.mark.parametrize(
    ("first", "second", "tags"),
    [
        (UNSET, UNSET, None),
        ((), UNSET, "{}"),
        ((("team", "a"),), UNSET, '{"team":"a"}'),
        (UNSET, (("team", "b"), ("env", "x")), '{"env":"x","team":"b"}'),
        ((("team", "a"),), (("team", "b"),), '{"team":"b"}'),
        ((("team", "a"),), (), "{}"),
    ],
)
def test_tags_are_those_of_the_last_description_that_has_any(first, second, tags: str | None):
    """
    A description without tags, for example of a snapshot, does not take them away; and a change of tags is no
    change of class or storage, so that all points count.
    """
    points, _ = tables()
    [row] = verdict(points, described_twice(first, second)).to_pylist()
    [plain] = verdict(*tables()).to_pylist()

    assert tags == row["tags"]
    assert plain["measured_s"] == row["measured_s"]


def saving(*, usd: str, chance: float, judgement: Judgement) -> Option:
    """Return an option that costs less than now."""
    amount = Decimal(usd)
    return plans.option(title=usd, usd_per_day_more=amount, probability=chance, judgement=judgement)


def row_of_plan(plan: Plan) -> dict[str, object]:
    """Return the row of an instance with this plan."""
    first = FirstOptions(present=plan.present, options=plan.options, ladder=plan.ladder)
    law = VerdictLaw(diagnose=diagnose_snapshot, plan=lambda _d, _s: first)
    [row] = instance_verdict(*tables("quiet"), law).to_pylist()
    return row


def test_the_cheaper_setup_is_that_of_the_plan_whatever_its_role():
    """The example's plan has one, which is its cheapest option and not one of a smaller class alone."""
    [row] = verdict(*tables("quiet"), has_plan=True).to_pylist()

    assert "db.t4g.large, storage as it is" == row["cheaper"]
    assert row["cheaper_usd_per_day_more"] < 0
    assert row["cheaper_chance"] > 0.9


def test_the_cheaper_setup_has_the_largest_likely_saving():
    lifts, unsure, not_enough = Judgement.LIFTS, Judgement.UNSURE, Judgement.DOES_NOT
    options = (
        saving(usd="-3.20001", chance=1.0, judgement=lifts),
        saving(usd="-4", chance=0.9, judgement=unsure),
        saving(usd="-5", chance=0.5, judgement=unsure),
        saving(usd="-90", chance=0.1, judgement=not_enough),
    )
    row = row_of_plan(plans.quiet(options=options))

    assert ("-4", Decimal(-4), 0.9) == (row["cheaper"], row["cheaper_usd_per_day_more"], row["cheaper_chance"])


def test_where_a_limit_binds_a_setup_that_costs_less_is_a_step_and_no_saving():
    step = saving(usd="-4", chance=1.0, judgement=Judgement.LIFTS)
    row = row_of_plan(plans.claims(options=(step,), ladder=None))

    assert ("-4", None) == (row["option"], row["cheaper"])


def test_what_is_missing_is_told_by_an_ingest():
    """A ranking has no options for the class of an instance, so its remedy names none."""
    points, described = tables()
    [row] = verdict(points, described.slice(0, 0)).to_pylist()

    assert "instance class" in row["reason"]
    assert "Ingest an answer of describe-db-instances, or a table of descriptions." == row["remedy"]
