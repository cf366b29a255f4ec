"""Parallel sessions: who reads what, in which order, and how it is counted."""

from math import gcd

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll.errors import UsageError
from plimsoll.units import GIB, KIB, MIB
from plimsoll_lab.model.sweep import Pattern
from plimsoll_lab.sweep.plan import SweepPlan
from plimsoll_lab.sweep.postgres import fit_to_server
from plimsoll_lab.sweep.server import SweepServerFacts, scratch_bytes
from plimsoll_lab.sweep.streams import Piece, parts_of, stride_of, within


def facts(**other) -> SweepServerFacts:
    known = {
        "version_number": 180_006,
        "version": "18.6",
        "block_bytes": 8192,
        "buffers_bytes": 128 * MIB,
        "cache_bytes": 4 * GIB,
        "direct": "",
        "combine_limit": "128kB",
        "is_read_only": False,
        "is_standby": False,
        "connections_left": 50,
        "role": "me",
    }
    return SweepServerFacts(**(known | other))


@given(blocks=st.integers(100, 10**7), streams=st.integers(1, 100))
def test_no_two_streams_read_the_same_block(blocks, streams):
    """The parts follow one another, and all are within the table."""
    parts = parts_of(blocks, streams)

    ends = [part.first + part.count for part in parts]
    assert [0, *ends[:-1]] == [part.first for part in parts]
    assert ends[-1] <= blocks
    assert blocks - ends[-1] < streams


@given(slots=st.integers(1, 10**6))
def test_every_slot_comes_once_before_any_comes_again(slots):
    """The stride and the number of slots have no common divisor; neighbours do not follow each other."""
    stride = stride_of(slots)

    assert slots < 4 or gcd(stride, slots) == 1
    if slots > 5:
        assert stride not in (1, slots - 1)


def test_a_statement_over_the_edge_counts_by_its_share():
    """Half of it lies within."""
    pieces = [Piece(0.0, 1.0, 100, 10), Piece(1.0, 2.0, 300, 30), Piece(5.0, 6.0, 7, 1)]

    assert 50 + 150 == within(pieces, 0.5, 1.5, lambda piece: piece.bytes)
    assert 40 == within(pieces, -1, 3, lambda piece: piece.requests)
    assert 0 == within(pieces, 3, 4, lambda piece: piece.bytes)


def test_steps_go_from_what_leaves_little_behind_to_what_leaves_much():
    """Scans before scattered requests, odd sizes first, then the large ones; single requests last."""
    plan = SweepPlan(sizes_bytes=(8 * KIB, 64 * KIB, 384 * KIB, 1024 * KIB))
    steps = plan.steps()

    first = [step.size_bytes // KIB for step in steps[:4]]
    assert [384, 1024, 64, 8] == first
    assert [Pattern.SEQUENTIAL] * 4 + [Pattern.SCATTERED] * 4 == [s.pattern for s in steps[:8]]
    assert all(step.is_alone and step.depth == 1 for step in steps[8:])


def test_sizes_that_the_server_cannot_read_at_once_are_left_out_with_a_note():
    """Not multiples of its block, and beyond io_max_combine_limit."""
    plan, notes = fit_to_server(SweepPlan(), facts(), has_prewarm=True)

    assert [8, 16, 32, 64, 128] == [size // KIB for size in plan.sizes_bytes]
    assert any("io_max_combine_limit = 1MB" in note for note in notes)
    assert 16 == plan.depth


@pytest.mark.parametrize(
    ("limit", "expected"), [("1MB", MIB), ("512kB", 512 * KIB), (None, 256 * KIB), ("16", 128 * KIB)]
)
def test_the_largest_request_is_the_servers_setting(limit, expected):
    """17 has no such setting; a bare number counts blocks."""
    assert expected == facts(combine_limit=limit).largest_request_bytes


def test_without_pg_prewarm_only_scans_are_measured():
    """The note has the remedy."""
    plan, notes = fit_to_server(SweepPlan(), facts(combine_limit="1MB"), has_prewarm=False)

    assert (Pattern.SEQUENTIAL,) == plan.patterns
    assert any("create extension pg_prewarm" in note for note in notes)


def test_a_server_without_room_is_left_alone():
    """Its connections are for its clients; a few stay free."""
    with pytest.raises(UsageError, match="free connections"):
        fit_to_server(SweepPlan(), facts(connections_left=4), has_prewarm=True)

    plan, _ = fit_to_server(SweepPlan(), facts(connections_left=9), has_prewarm=True)
    assert 6 == plan.depth


def test_no_size_at_all_is_refused():
    """4 KiB are half a block."""
    with pytest.raises(UsageError, match="8 KiB to 128 KiB at once"):
        fit_to_server(SweepPlan(sizes_bytes=(4096, 2 * MIB)), facts(), has_prewarm=True)


def test_a_table_of_ours_is_larger_than_the_buffers_and_not_without_bounds():
    """Four times the buffers, at least half a GiB, at most 64 GiB."""
    assert 512 * MIB == scratch_bytes(facts())
    assert 4 * GIB == scratch_bytes(facts(buffers_bytes=GIB))
    assert 64 * GIB == scratch_bytes(facts(buffers_bytes=1024 * GIB))
