"""Two captures of one statement: which difference is told, and that an equal one is not."""

import pytest
from msgspec.structs import replace

from plimsoll.explain import plans
from plimsoll.explain.pair import compare_pair
from plimsoll.explain.shapes import difference
from plimsoll.model.explain import Blocks, Capture, CaptureFile, Node, PairOutcome, Source, likeness

STATEMENT = "select * from orders where customer = 7"


def scan(**changes) -> Node:
    """A sequential scan of 1,000 blocks, 800 of them read at a tenth of a millisecond each."""
    plain = Node(
        label="Seq Scan",
        relation="orders",
        details=("Filter: (customer = 7)",),
        rows_planned=90.0,
        rows=100.0,
        loops=1.0,
        seconds=0.1,
        blocks=Blocks(hit=200, read=800, read_s=0.08, write_s=0.0),
    )
    return replace(plain, **changes)


def capture(plan: Node | None = None, **changes) -> Capture:
    """An execution of the scan."""
    plan = plan or scan()
    plain = Capture(
        statement=STATEMENT,
        source=Source.EXPLAIN,
        plan=plan,
        settings_known=True,
        execution_s=plan.seconds,
        rows=plan.rows,
        blocks=plan.blocks,
    )
    return replace(plain, **changes)


def slow(block_s: float, *, hit: int = 200, read: int = 800, other_s: float = 0.02) -> Capture:
    """The same scan with another time for each block."""
    blocks = Blocks(hit=hit, read=read, read_s=read * block_s, write_s=0.0)
    return capture(scan(seconds=read * block_s + other_s, blocks=blocks))


def counted(**changes) -> Capture:
    """The mean call of the statement as `pg_stat_statements` counts it."""
    return replace(capture(), plan=None, source=Source.PG_STAT_STATEMENTS, calls=500, **changes)


def file(*captures: Capture, **changes) -> CaptureFile:
    return replace(CaptureFile(captures=captures), **changes)


def test_a_difference_is_indented_as_explain_indents_a_plan():
    """Conditions of a node and the nodes below it are indented one step further."""
    below = Node(label="Sort", details=("Sort Key: customer",), children=(scan(),))
    lines = difference(below, replace(below, children=(scan(relation="parts"),)))

    assert [(" ", 0), (" ", 1), ("-", 1), ("+", 1), (" ", 2)] == [(x.sign, x.depth) for x in lines]


def test_small_differences_of_time_and_literals_are_the_same():
    """A third more time is no difference; different literals are the same plan."""
    other = capture(scan(details=("Filter: (customer = 8)",), seconds=0.13))
    pair = compare_pair(capture(), replace(other, execution_s=0.13))

    assert PairOutcome.SAME is pair.outcome
    assert () == pair.diff


def test_the_same_plan_and_blocks_in_more_time_is_not_the_query():
    """The ratios of time, I/O and each block are given, and the node that took the time."""
    pair = compare_pair(capture(), slow(0.01))

    assert PairOutcome.NOT_THE_QUERY is pair.outcome
    assert pytest.approx(80.2) == pair.time_ratio
    assert pytest.approx(100) == pair.io_time_ratio
    assert pytest.approx(100) == pair.block_time_ratio
    assert "Not the query" in pair.title
    assert any("Seq Scan on orders" in reason for reason in pair.reasons)
    assert "storage" in pair.advice


def test_time_without_io_points_to_waits_and_cpu():
    """With the same blocks at the same speed it waited or computed, so storage is not the reason."""
    pair = compare_pair(capture(), slow(0.0001, other_s=5.0))

    assert PairOutcome.NOT_THE_QUERY is pair.outcome
    assert "wait" in pair.advice
    assert "storage" not in pair.advice


def test_untimed_io_is_reported():
    """Without track_io_timing the verdict is the same, but storage and locks cannot be distinguished."""
    blocks = Blocks(hit=200, read=800)
    untimed = [capture(scan(blocks=blocks, seconds=s)) for s in (0.1, 9.0)]
    pair = compare_pair(*untimed)

    assert PairOutcome.NOT_THE_QUERY is pair.outcome
    assert pair.io_time_ratio is None
    assert any("track_io_timing" in reason for reason in pair.reasons)


GATHER = Node(label="Gather", details=("Workers Planned: 2",), loops=1.0, rows=1.0)
BARE, BARE_SLOW = (capture(scan(blocks=None, seconds=s)) for s in (0.1, 5.0))


@pytest.mark.parametrize(
    ("first", "second", "outcome", "said"),
    [
        # The same blocks were touched, but more of them were read.
        (slow(0.001, hit=990, read=10), slow(0.001, hit=0, read=1000), PairOutcome.CACHE, "1,000"),
        # A few more reads do not hide that each read takes a hundred times as long.
        (slow(0.0001, hit=400, read=600), slow(0.01, hit=200, read=800), PairOutcome.NOT_THE_QUERY, ""),
        # The number of workers is compared like a condition.
        (capture(GATHER), capture(replace(GATHER, details=("Workers Planned: 4",))), PairOutcome.PLAN, ""),
        # More rows explain more time.
        (capture(), capture(scan(rows=250.0, seconds=0.9)), PairOutcome.ROWS, "processed 250 rows instead of 100"),
        # The same rows come from three times as many blocks.
        (capture(), slow(0.0001, hit=600, read=2400), PairOutcome.BLOCKS, "3,000 blocks instead of 1,000"),
        # The plan is the same, but its time is unknown.
        (
            capture(),
            capture(scan(rows=None, loops=None, seconds=None, blocks=None), was_run=False),
            PairOutcome.UNKNOWN,
            "",
        ),
        # Without blocks a slower execution may come from the cache; one as fast is the same.
        (BARE, BARE_SLOW, PairOutcome.UNKNOWN, ""),
        (BARE, BARE, PairOutcome.SAME, ""),
        # Counters alone give the same verdict.
        (counted(), counted(blocks=Blocks(hit=200, read=8000, read_s=0.8, write_s=0.0)), PairOutcome.BLOCKS, ""),
        (
            counted(),
            counted(blocks=Blocks(hit=200, read=800, read_s=8.0, write_s=0.0), execution_s=8.02),
            PairOutcome.NOT_THE_QUERY,
            "",
        ),
    ],
)
def test_what_differs_is_named(first: Capture, second: Capture, outcome: PairOutcome, said: str):
    """Of cache, storage, plan, rows and blocks; what cannot be told is unknown."""
    pair = compare_pair(first, second)

    assert outcome is pair.outcome
    assert said in pair.title


def test_a_different_plan_is_shown_line_by_line():
    """Lines of both plans, of the first and of the second are marked."""
    index = scan(label="Index Scan", index="orders_customer_idx", details=("Index Cond: (customer = 7)",))
    above = Node(label="Limit", rows=100.0, loops=1.0, seconds=0.1, blocks=index.blocks)
    pair = compare_pair(capture(replace(above, children=(scan(),))), capture(replace(above, children=(index,))))

    assert PairOutcome.PLAN is pair.outcome
    assert [
        (" ", "Limit"),
        ("-", "Seq Scan on orders"),
        ("-", "Filter: (customer = 7)"),
        ("+", "Index Scan using orders_customer_idx on orders"),
        ("+", "Index Cond: (customer = 7)"),
    ] == [(line.sign, line.text) for line in pair.diff]


def test_temporary_files_are_other_blocks():
    """A sort that no longer fits its memory is reported with the changed setting."""
    spilled = Blocks(hit=200, read=800, temp_read=500, temp_written=500, read_s=0.1, write_s=0.1)
    pair = compare_pair(capture(settings={"work_mem": "64MB"}), capture(scan(blocks=spilled), settings={}))

    assert PairOutcome.BLOCKS is pair.outcome
    assert "500" in pair.title
    assert (("work_mem", "64MB", ""),) == pair.settings
    assert any("work_mem" in reason for reason in pair.reasons)


def test_settings_that_one_side_lacks_are_not_compared():
    """A log without auto_explain.log_settings does not mean default settings."""
    found = capture(settings={"work_mem": "64MB"})

    assert () == compare_pair(found, capture(settings_known=False)).settings


def test_statements_are_paired_by_what_they_do():
    """Literals, case and white space are ignored; counters pair with counters; unpaired ones are named."""
    like = capture(statement="SELECT *\nFROM orders WHERE customer = $1;")
    alone = capture(statement="select 1 from customers")
    comparison = plans.compare(file(capture(), alone, counted()), file(like, counted()), names=("a", "b"))

    assert 2 == len(comparison.pairs)
    assert ("select 1 from customers",) == comparison.only_first
    assert () == comparison.only_second


def test_a_plan_without_its_statement_pairs_with_the_only_one():
    """A plan of EXPLAIN has no statement; with several on the other side it stays unpaired."""
    unnamed = file(capture(statement=""))
    one = plans.compare(file(capture()), unnamed, names=("a", "b"))
    several = plans.compare(file(capture(), capture(statement="select 2 from t")), unnamed, names=("a", "b"))

    assert 1 == len(one.pairs)
    assert () == several.pairs
    assert 2 == plans.status_of(several)


def test_the_median_of_the_heaviest_plan_is_compared():
    """The median of many logged executions is compared; several plans are mentioned."""
    index = replace(scan(label="Index Scan", index="i"), seconds=0.001)
    many = [capture(scan(seconds=s)) for s in (0.1, 0.11, 90.0)]
    comparison = plans.compare(file(capture()), file(*many, capture(index)), names=("a", "b"))

    (pair,) = comparison.pairs
    assert PairOutcome.SAME is pair.outcome
    assert pytest.approx(0.11) == pair.second.execution_s
    assert (1, 4) == pair.counts
    assert any("several plans" in reason for reason in pair.reasons)


@pytest.mark.parametrize(
    ("second", "status"), [((capture(),), 0), ((slow(0.01),), 1), ((replace(capture(), was_run=False),), 2), ((), 2)]
)
def test_the_exit_status_is_same_different_or_unknown(second, status):
    """The status is 0, 1 or 2; without a pair it is unknown."""
    comparison = plans.compare(file(capture()), file(*second), names=("a", "b"))

    assert status == plans.status_of(comparison)


def test_counters_decide_for_a_statement_that_was_only_planned():
    """The plan was not executed, but its calls were counted, so the verdict is known."""
    planned = capture(was_run=False)
    both = file(planned, counted())

    assert 0 == plans.status_of(plans.compare(both, both, names=("a", "b")))
    assert 2 == plans.status_of(plans.compare(file(planned), both, names=("a", "b")))


def test_uncaptured_statements_and_simulated_files_are_noted():
    """The notes say it, with the file's name."""
    comparison = plans.compare(
        file(capture(), is_simulated=True, note="Made up."), file(capture(), server_version="18.1"), names=("a", "b")
    )

    assert ("'a' is simulated. Made up.",) == comparison.notes


@pytest.mark.parametrize(
    ("one", "other", "is_alike"),
    [
        ("select 1", "SELECT  2 ;", True),
        ("select 'a''b'", "select $1", True),
        ("select E'\\'x' from t", "select '' from t", True),
        ("where a in (1, 2, 3)", "where a in (4)", True),
        ("select 1 -- secret\nfrom t", "select 1 from t", True),
        ("select $$it's$$", "select 'x'", True),
        ("a = 1.5e3::numeric", "a = .5::numeric", True),
        # Digits in names and the case of quoted names are significant.
        ("select a1 from t1", "select a2 from t1", False),
        ('select "A" from t', 'select "a" from t', False),
        ("select 1 from t", "select 1 from s", False),
    ],
)
def test_statements_that_differ_in_literals_are_alike(one: str, other: str, is_alike: bool):
    """As pg_stat_statements normalises them; names are no literals."""
    assert is_alike == (likeness(one) == likeness(other))
