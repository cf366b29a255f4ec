"""Plans, logs and statements as anybody may write them: read, or refused in one sentence."""

from pathlib import Path

import msgspec
from hypothesis import example, given, settings
from hypothesis import strategies as st

from contract.tree import ROOT
from plimsoll.app.render import render
from plimsoll.errors import PlimsollError
from plimsoll.explain import plans
from plimsoll.model.explain import CaptureFile, likeness, without_literals
from plimsoll.reports.explain.json import render_captures, render_explain_json
from plimsoll.sources.explain.allowed import refusal
from plimsoll.sources.explain.file import read_captures
from plimsoll.sources.explain.log import captures_in_log
from plimsoll.sources.explain.statements import split, without_comments

# A shared machine may be slow, so no example has a deadline.
fuzzed = settings(deadline=None, max_examples=150)

RECORDING = (ROOT / "examples" / "plans" / "slow.json").read_bytes()
LOG = b"""\
2026-11-20 16:19:46.740 UTC [7] LOG:  duration: 0.400 ms  plan:
\tQuery Text: select * from orders where note = 'secret'
\tLimit  (cost=0.00..6.50 rows=120 width=8) (actual time=0.1..0.3 rows=7.00 loops=1)
\t  Buffers: shared hit=9 read=2
\t  ->  Seq Scan on orders  (cost=0.00..6.50 rows=120 width=8) (actual time=0.1..0.3 rows=7.00 loops=1)
\t        Filter: (note = 'secret'::text)
\tSettings: work_mem = '64kB'
2026-11-20 16:19:46.741 UTC [7] LOG:  duration: 1.0 ms  plan:
\t{ "Query Text": "select 1", "Plan": { "Node Type": "Result", "Actual Rows": 1, "Actual Loops": 1 } }
"""
KEYS = (
    *("Plan", "Plans", "Node Type", "Join Type", "Strategy", "Relation Name", "Filter", "Sort Key"),
    *("Actual Rows", "Actual Loops", "Actual Total Time", "Shared Hit Blocks", "Shared Read Blocks"),
    *("Settings", "Query Identifier", "Planning Time", "Execution Time", "Subplan Name", "Alias"),
)
PIECES = st.sampled_from(
    [
        *("select ", "'", '"', "$$", "$x$", "/*", "*/", "--", "\n", ";", "(", ")", "E'", "\\", "$1"),
        *("delete ", "with x as (", " for update", "1e5", "x", " ", ",", "u&'", "/*+ a */"),
    ]
)
trees = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=6),
    max_leaves=20,
)


def read(folder: Path, data: bytes) -> CaptureFile | None:
    """What a file holds, or nothing where it is refused in one sentence."""
    path = folder / "it"
    path.write_bytes(data)
    try:
        return read_captures(path)
    except PlimsollError:
        return None


def check(folder: Path, data: bytes) -> None:
    """What can be read can be compared, said and written down."""
    file = read(folder, data)
    if file is not None:
        comparison = plans.compare(file, file, names=("a", "b"))
        assert plans.status_of(comparison) in (0, 1, 2)
        assert render(comparison, width=80)
        assert render_explain_json(comparison)
        assert read(folder, render_captures(file).encode()) is not None


@fuzzed
@given(
    base=st.sampled_from([RECORDING, LOG]),
    at=st.floats(0, 1),
    length=st.integers(0, 40),
    put=st.binary(max_size=20) | st.sampled_from([b"(", b"'", b"\n", b"\t", b"{", b"-1", b"1e999"]),
)
def test_damaged_files_are_read_or_refused(tmp_path_factory, base, at, length, put):
    """Bytes taken out and put in, anywhere."""
    start = int(at * len(base))
    check(tmp_path_factory.getbasetemp(), base[:start] + put + base[start + length :])


@fuzzed
@given(tree=trees)
@example(tree={"Plan": {"Node Type": "Limit", "Actual Rows": 1e308, "Actual Loops": 1e308}})
@example(tree=[{"Plan": {"Node Type": [], "Plans": 7}}])
def test_json_of_the_right_keys_is_read_or_refused(tmp_path_factory, tree):
    """Whatever stands under EXPLAIN's keys."""
    document = {"Plan": tree} if isinstance(tree, dict) else tree
    check(tmp_path_factory.getbasetemp(), msgspec.json.encode(document))


@fuzzed
@given(pieces=st.lists(PIECES, max_size=40))
def test_any_statement_is_judged_split_and_masked(pieces):
    """Quotes that do not close and comments within comments; what is masked stays masked."""
    text = "".join(pieces)
    refusal(text, allows_writes=False)
    split(text)
    without_comments(text)

    # What was masked stays so, whatever follows.
    assert "planted" not in likeness(f"select 'planted', 4711 {text}")
    assert "4711" not in without_literals(f"select 'planted', 4711 {text}")


def test_long_texts_take_no_more_than_their_length():
    """Ten thousand quotes, brackets or signs are done with in no time."""
    for piece in ("'", '"', "$", "(", "/*", "--", "1.", "\\", "E'", "$a$", "->  "):
        text = piece * 10_000
        likeness(text)
        refusal(text, allows_writes=False)
        captures_in_log(f"LOG:  duration: 1.0 ms  plan:\n\tQuery Text: {text}\n\t{text}\n")
