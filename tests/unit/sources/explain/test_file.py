"""Plans out of EXPLAIN's JSON and text, logs and files: the same capture whatever it was written in."""

import csv
import io
import json
from pathlib import Path

import pytest

from plimsoll.errors import DataError, SourceError
from plimsoll.model.explain import Capture, CaptureFile, Node, Source
from plimsoll.reports.explain.json import render_captures
from plimsoll.sources.explain.file import read_captures
from plimsoll.sources.explain.json_plan import capture_of
from plimsoll.sources.explain.log import captures_in_log
from plimsoll.sources.explain.text_plan import capture_of_text

# PostgreSQL 18.6 wrote both of the same statement, as auto_explain does.
TEXT = """\
Limit  (cost=9.10..9.20 rows=3 width=12) (actual time=30.1..34.6 rows=3.00 loops=1)
  Buffers: shared hit=23 read=80, temp read=5 written=6
  I/O Timings: shared read=19.260, temp write=0.740
  InitPlan 1 (returns $0)
    ->  Index Only Scan Backward using orders_id_idx on orders orders_1  (cost=0.42..0.45 rows=1 width=4) (actual time=0.020..0.020 rows=1.00 loops=1)
          Index Cond: (id IS NOT NULL)
          Heap Fetches: 1
          Buffers: shared hit=4
  ->  Gather  (cost=9.10..9.18 rows=10 width=12) (actual time=29.0..34.5 rows=3.00 loops=1)
        Workers Planned: 2
        Workers Launched: 2
        Buffers: shared hit=23 read=80, temp read=5 written=6
        I/O Timings: shared read=19.260, temp write=0.740
        ->  Parallel Hash Left Join  (cost=1.00..8.00 rows=5 width=12) (actual time=20.0..21.0 rows=1.00 loops=3)
              Hash Cond: (orders.customer = customers.id)
              Buffers: shared hit=19 read=80, temp read=5 written=6
              I/O Timings: shared read=19.260, temp write=0.740
              ->  Parallel Seq Scan on orders  (cost=0.00..6.50 rows=120 width=8) (actual time=0.3..19.9 rows=99.67 loops=3)
                    Filter: ((note <> 'it''s secret'::text) AND (id > 1000))
                    Rows Removed by Filter: 333
                    Buffers: shared hit=9 read=80
                    I/O Timings: shared read=19.260
              ->  Parallel Hash  (cost=1.00..1.00 rows=9 width=8) (actual time=0.5..0.5 rows=3.00 loops=3)
                    ->  Seq Scan on customers  (cost=0.00..1.50 rows=9 width=8) (never executed)
Settings: work_mem = '64kB', search_path = 'it''s, public'
Planning:
  Buffers: shared hit=99
Planning Time: 0.250 ms
Execution Time: 34.700 ms"""


def node(kind: str, rows: float, total_ms: float, hit: int, read: int, **more) -> dict:
    """A node as EXPLAIN's JSON has it."""
    plain = {
        "Node Type": kind,
        "Parallel Aware": False,
        "Plan Rows": 3,
        "Actual Total Time": total_ms,
        "Actual Rows": rows,
        "Actual Loops": 1,
        "Shared Hit Blocks": hit,
        "Shared Read Blocks": read,
        "Shared I/O Read Time": 19.260 if read else 0.0,
        "Shared I/O Write Time": 0.0,
        "Temp I/O Read Time": 0.0,
        "Temp I/O Write Time": 0.0,
    }
    spills = {"Temp Read Blocks": 5, "Temp Written Blocks": 6, "Temp I/O Write Time": 0.740}
    return plain | (spills if more.pop("spills", False) else {}) | more


def plan() -> dict:
    """The plan of TEXT."""
    below = [
        node(
            "Seq Scan", 99.67, 19.9, 9, 80,
            **{"Parallel Aware": True, "Actual Loops": 3, "Relation Name": "orders", "Plan Rows": 120,
               "Alias": "orders", "Filter": "((note <> 'it''s secret'::text) AND (id > 1000))",
               "Rows Removed by Filter": 333},
        ),
        node(
            "Hash", 3.0, 0.5, 0, 0,
            **{"Parallel Aware": True, "Actual Loops": 3, "Plan Rows": 9,
               "Plans": [node("Seq Scan", 0, 0, 0, 0, **{"Relation Name": "customers", "Plan Rows": 9,
                              "Alias": "customers", "Actual Loops": 0})]},
        ),
    ]  # fmt: skip
    join = node(
        "Hash Join", 1.0, 21.0, 19, 80, spills=True,
        **{"Parallel Aware": True, "Join Type": "Left", "Actual Loops": 3, "Plans": below, "Plan Rows": 5,
           "Inner Unique": True, "Hash Cond": "(orders.customer = customers.id)"},
    )  # fmt: skip
    first = node(
        "Index Only Scan", 1.0, 0.020, 4, 0,
        **{"Parent Relationship": "InitPlan", "Subplan Name": "InitPlan 1 (returns $0)",
           "Scan Direction": "Backward", "Index Name": "orders_id_idx", "Relation Name": "orders",
           "Plan Rows": 1, "Alias": "orders_1", "Index Cond": "(id IS NOT NULL)"},
    )  # fmt: skip
    gather = node(
        "Gather", 3.0, 34.5, 23, 80, spills=True,
        **{"Workers Planned": 2, "Workers Launched": 2, "Plans": [join], "Plan Rows": 10},
    )  # fmt: skip
    return node("Limit", 3.0, 34.6, 23, 80, spills=True, Plans=[first, gather])


DOCUMENT = {
    "Plan": plan(),
    "Settings": {"work_mem": "64kB", "search_path": "it's, public"},
    "Planning": {"Shared Hit Blocks": 99},
    "Planning Time": 0.250,
    "Execution Time": 34.700,
}
STATEMENT = "select * from orders -- by hand\nwhere note <> 'it''s secret'"


def of_json() -> Capture:
    return capture_of([DOCUMENT], statement="s", source=Source.EXPLAIN, where="here")


def of_text(text: str = TEXT) -> Capture:
    capture = capture_of_text(text.splitlines(), statement="s", source=Source.EXPLAIN)
    assert capture is not None
    return capture


def flat(root: Node) -> list[Node]:
    return [root, *(n for child in root.children for n in flat(child))]


def test_figures_are_of_all_loops_and_in_seconds():
    """
    Rows and times are means of a loop in EXPLAIN; blocks are sums already. Text and JSON of one
    execution are the same capture: labels, conditions, rows of all loops, blocks, times and settings.
    """
    capture = of_json()
    scan = flat(capture.plan)[4]

    assert capture == of_text()
    assert pytest.approx(299.01) == scan.rows
    assert pytest.approx(0.0597) == scan.seconds
    assert (9, 80) == (scan.blocks.hit, scan.blocks.read)
    assert pytest.approx(0.01926) == scan.blocks.read_s
    assert pytest.approx(0.02) == capture.blocks.io_s
    assert (5, 6) == (capture.blocks.temp_read, capture.blocks.temp_written)
    assert pytest.approx(0.0347) == capture.execution_s
    assert {"work_mem": "64kB", "search_path": "it's, public"} == capture.settings


def test_nodes_have_the_names_of_the_text():
    """The parallel left join is told from a plain one, the backward scan from a forward one."""
    labels = [(n.role, n.label, n.relation, n.index) for n in flat(of_json().plan)]

    assert [
        ("", "Limit", "", ""),
        ("InitPlan 1", "Index Only Scan Backward", "orders orders_1", "orders_id_idx"),
        ("", "Gather", "", ""),
        ("", "Parallel Hash Left Join", "", ""),
        ("", "Parallel Seq Scan", "orders", ""),
        ("", "Parallel Hash", "", ""),
        ("", "Seq Scan", "customers", ""),
    ] == labels


def test_what_was_not_timed_or_not_run_is_unknown():
    """Without track_io_timing there is no line and no key; EXPLAIN without ANALYZE has no rows. That is not zero."""
    untimed = of_text("\n".join(line for line in TEXT.splitlines() if "I/O Timings" not in line))
    planned = of_text("Seq Scan on orders  (cost=0.00..6.50 rows=120 width=8)\n  Filter: (id > $1)")

    assert (None, 80) == (untimed.blocks.io_s, untimed.blocks.read)
    assert (False, None) == (planned.was_run, planned.plan.rows)
    assert ("Filter: (id > $1)",) == planned.plan.details


@pytest.mark.parametrize(
    ("more", "label"),
    [
        ({"Node Type": "Aggregate", "Strategy": "Hashed", "Partial Mode": "Partial"},
         "Partial HashAggregate"),
        ({"Node Type": "Aggregate", "Strategy": "Sorted", "Partial Mode": "Finalize"},
         "Finalize GroupAggregate"),
        ({"Node Type": "Aggregate", "Strategy": "Plain", "Partial Mode": "Simple"}, "Aggregate"),
        ({"Node Type": "Nested Loop", "Join Type": "Left"}, "Nested Loop Left Join"),
        ({"Node Type": "Nested Loop", "Join Type": "Inner"}, "Nested Loop"),
        ({"Node Type": "Hash Join", "Join Type": "Right Anti"}, "Hash Right Anti Join"),
        ({"Node Type": "Merge Join", "Join Type": "Inner"}, "Merge Join"),
        ({"Node Type": "SetOp", "Strategy": "Hashed", "Command": "Except"}, "HashSetOp Except"),
        ({"Node Type": "ModifyTable", "Operation": "Update"}, "Update"),
        ({"Node Type": "Foreign Scan", "Operation": "Select", "Async Capable": True},
         "Async Foreign Scan"),
    ],
)  # fmt: skip
def test_kinds_are_named_as_in_the_text(more: dict, label: str):
    """Strategy, mode and kind of join are a part of the name."""
    capture = capture_of({"Plan": more}, statement="", source=Source.EXPLAIN, where="here")

    assert label == capture.plan.label


@pytest.mark.parametrize(
    "document", [[], {}, {"Plan": 1}, {"Plan": {}}, {"Plan": {"Node Type": "Limit", "Actual Rows": "many"}}, 7]
)
def test_what_is_no_plan_is_refused(document):
    """With the name of the place, and no traceback."""
    with pytest.raises(DataError, match="here"):
        capture_of(document, statement="", source=Source.EXPLAIN, where="here")


def nested(levels: int) -> dict:
    made: dict = {"Node Type": "Append"}
    for _ in range(levels):
        made = {"Node Type": "Append", "Plans": [made]}
    return {"Plan": made}


def test_a_plan_of_thousands_of_levels_is_refused():
    """It is not read until the stack is used up."""
    with pytest.raises(DataError, match="levels"):
        capture_of(nested(900), statement="", source=Source.EXPLAIN, where="here")


def logged(prefix: str, form: str, *, indent: str = "\t", after: str = "") -> str:
    """A log with one plan, between other lines."""
    if form == "json":
        body = json.dumps({"Query Text": STATEMENT, "Query Parameters": "$1 = 'p4ss'", **DOCUMENT},
                          indent=2)  # fmt: skip
    else:
        # auto_explain logs no planning time, and the execution time in the first line.
        body = f"Query Text: {STATEMENT}\nQuery Parameters: $1 = 'p4ss'\n{TEXT}"
    opening = f"{prefix}LOG:  duration: 34.700 ms  plan:\n"
    lines = "".join(f"{indent}{line}\n" for line in body.splitlines())
    return f"{prefix}LOG:  checkpoint starting: time\n{opening}{lines}{prefix}LOG:  done\n{after}"


PREFIXES = [
    pytest.param("", id="none"),
    pytest.param("2026-11-20 16:19:46.740 UTC [7552] app@orders ", id="usual"),
    pytest.param("2026-11-20 16:19:46 UTC:10.0.0.1(52314):app@orders:[7552]:", id="rds"),
    pytest.param("<2026-11-20 16:19:46.740 +01> 6900 7/12 00000 ", id="zone"),
    pytest.param("1795191586.740 [7552]: ", id="epoch"),
    pytest.param("%%% {x} (a=1) ", id="strange"),
]


@pytest.mark.parametrize("form", ["json", "text"])
@pytest.mark.parametrize("prefix", PREFIXES)
def test_a_logged_plan_is_found_behind_any_prefix(prefix: str, form: str):
    """Its lines, its time, and what follows is another entry's."""
    (capture,), unread = captures_in_log(logged(prefix, form))

    assert 0 == unread
    assert Source.AUTO_EXPLAIN is capture.source
    assert pytest.approx(0.0347) == capture.execution_s
    assert [n.label for n in flat(of_json().plan)] == [n.label for n in flat(capture.plan)]
    assert of_json().blocks == capture.blocks
    assert capture.settings_known


@pytest.mark.parametrize("form", ["json", "text"])
def test_no_literal_of_a_log_is_kept(form: str):
    """Neither of the statement nor of a condition nor of a parameter."""
    (capture,), _ = captures_in_log(logged("2026-11-20 16:19:46.740 UTC [1] ", form))
    whole = render_captures(CaptureFile(captures=(capture,)))

    assert "select * from orders where note <> ?" == capture.statement
    for secret in ("secret", "p4ss", "1000", "by hand"):
        assert secret not in whole


@pytest.mark.parametrize(
    "expected", ["EXPLAIN (ANALYZE, BUFFERS) select 1", "explain analyze verbose select 1", "select 1"]
)
def test_an_explained_statement_is_the_statement(expected: str):
    """Somebody's EXPLAIN in the log is laid beside other executions of what it explains."""
    log = logged("", "text").replace(STATEMENT.replace("\n", "\n\t"), expected)
    (capture,), _ = captures_in_log(log)

    assert "select ?" == capture.statement


def test_the_moment_is_that_of_the_line():
    """In UTC without a zone, and otherwise by it."""
    zoned, plain = (
        captures_in_log(logged(f"2026-11-20 17:19:46.500{zone} ", "text"))[0][0].time_s for zone in (" +01", " UTC")
    )

    assert pytest.approx(1_795_191_586.5) == zoned
    assert pytest.approx(3600) == plain - zoned


def csv_log() -> str:
    """One row an entry, whose message has the plan."""
    message = "duration: 34.700 ms  plan:\n" + f"Query Text: {STATEMENT}\n{TEXT}"
    out = io.StringIO()
    row = ["2026-11-20 16:19:46.740 UTC", "app", "orders", *["x"] * 10, message, *["y"] * 9]
    csv.writer(out).writerows([[*row[:13], "connection received", *row[14:]], row])
    return out.getvalue()


def json_log() -> str:
    """One object a line, as jsonlog writes and as collectors do."""
    message = "duration: 34.700 ms  plan:\n" + json.dumps({"Query Text": "select 1", **DOCUMENT})
    lines = [{"timestamp": "2026-11-20 16:19:46.740 UTC", "message": text} for text in ("x", message)]
    return "\n".join([*map(json.dumps, lines), "{broken"])


def syslog() -> str:
    """Each line has its own prefix and number; a tab is #011."""
    head = "Nov 20 16:19:46 db1 postgres[7552]: "
    lines = enumerate(logged("", "text").splitlines(), 1)
    return "\n".join(f"{head}[5-{n}] {line.replace(chr(9), '#011')}" for n, line in lines)


def without_tabs() -> str:
    """As JSON its brackets hold a plan together whose tabs a collector took."""
    return logged("2026-11-20 16:19:46 UTC [1] ", "json", indent="")


@pytest.mark.parametrize("write", [csv_log, json_log, syslog, without_tabs])
def test_a_log_of_every_form_is_read(write):
    (capture,), _ = captures_in_log(write())

    assert of_json().blocks == capture.blocks
    assert "Limit" == capture.plan.label
    assert (write is syslog) is (capture.time_s is None)


def test_a_plan_that_is_cut_off_is_counted():
    """The log was rotated in the middle of it."""
    cut = logged("2026-11-20 16:19:46 UTC [1] ", "json")[:900]

    assert ([], 1) == captures_in_log(cut)


def test_files_are_told_apart_by_what_is_in_them(tmp_path: Path):
    """A recording, EXPLAIN's JSON, what psql shows, and a log."""
    framed = "\n".join(["   QUERY PLAN", "-" * 20, *(f" {line}" for line in TEXT.splitlines()), "(30 rows)"])
    recording = CaptureFile(captures=(of_json(),))
    contents = {
        "a.json": render_captures(recording),
        "b.json": json.dumps([DOCUMENT]),
        "c.txt": framed,
        "d.log": logged("", "text"),
    }
    for name, content in contents.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    found = {name: read_captures(tmp_path / name) for name in contents}

    assert recording == found["a.json"]
    assert [of_json().blocks] * 4 == [file.captures[0].blocks for file in found.values()]
    assert "d.log" == found["d.log"].place
    with pytest.raises(SourceError):
        read_captures(tmp_path / "none.json")
