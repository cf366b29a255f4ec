"""Several indexers share the work of the index, and no work is left when one of them is gone."""

import contextlib
import time

from sqlalchemy import Engine as Database

from search_service.database import connect
from search_service.errors import UnavailableError
from search_service.share import ANYBODY_EVERY, SLOTS, Share

PATIENCE_S = 60.0


def looked(share: Share) -> frozenset[int]:
    """The slots after a second has passed, by an answer that is not everybody's."""
    share._looked = -1e9
    share._asked = 0
    return share.slots()


def test_one_indexer_has_all_slots(database: Database):
    with Share(database) as share:
        assert frozenset(range(SLOTS)) == looked(share)


def test_two_indexers_have_half_of_the_slots_each(database: Database, stored):
    """
    From the time at which both have looked; and the one that stays gets all of them back, as soon as the server has
    noticed that the other connection is closed.
    """
    other = connect(stored.database_url)
    with Share(database) as first:
        looked(first)
        with Share(other) as second:
            looked(second)
            halves = looked(first), looked(second)
        end_s = time.monotonic() + PATIENCE_S
        while (rest := looked(first)) != frozenset(range(SLOTS)) and time.monotonic() < end_s:
            time.sleep(0.05)
    other.dispose()

    assert SLOTS == len(halves[0] | halves[1])
    assert [SLOTS // 2] * 2 == [len(half) for half in halves]
    assert frozenset(range(SLOTS)) == rest


def test_now_and_then_an_indexer_does_the_work_of_any(database: Database, stored):
    """An owner that hangs keeps its slots."""
    hanging = connect(stored.database_url)
    with Share(hanging) as owner, Share(database) as share:
        looked(owner)
        seen: set[int] = set()
        for _ in range(ANYBODY_EVERY):
            seen |= share.slots()
    hanging.dispose()

    assert set(range(SLOTS)) == seen


def test_a_database_that_comes_back_gives_slots_again(database: Database, stored):
    """The connection was ended by the server meanwhile."""
    from flow import query

    with Share(database) as share:
        looked(share)
        query(stored, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
        found: frozenset[int] = frozenset()
        end_s = time.monotonic() + PATIENCE_S
        # The server may still hold the locks of the connection that it ended.
        while found != frozenset(range(SLOTS)) and time.monotonic() < end_s:
            with contextlib.suppress(UnavailableError):
                found = looked(share)

    assert frozenset(range(SLOTS)) == found
