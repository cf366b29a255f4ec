"""The size of the tables, before they are made."""

import pytest

from plimsoll.errors import UsageError
from plimsoll.units import GIB, MIB
from plimsoll_lab.load.dataset import dataset_of


@pytest.mark.parametrize("memory_bytes", [64 * MIB, 512 * MIB, 3 * GIB])
@pytest.mark.parametrize(("kind", "ratio"), [("scan", 2), ("pgbench", 4), ("toast", 1.5)])
def test_tables_exceed_what_could_cache_them(memory_bytes, kind, ratio):
    """A scan of all tables in turn finds nothing cached at twice the memory; random reads need more."""
    dataset = dataset_of(kind, memory_bytes=memory_bytes, clients=16)

    assert ratio * memory_bytes <= dataset.size_bytes < (ratio + 1) * memory_bytes


def test_each_scanning_client_has_a_table_of_its_own():
    """Otherwise one would read what another has just cached."""
    assert 12 == dataset_of("scan", memory_bytes=GIB, clients=12).table_count
    assert 1 == dataset_of("pgbench", memory_bytes=GIB, clients=12).table_count


def test_a_scale_that_is_said_is_kept():
    """Even if the tables then fit the memory."""
    assert 3 == dataset_of("pgbench", memory_bytes=GIB, clients=4, scale=3).scale


def test_tables_larger_than_pgbench_can_number_are_refused():
    """The remedy is less memory, not more patience."""
    with pytest.raises(UsageError) as raised:
        dataset_of("pgbench", memory_bytes=64 * GIB, clients=4)

    assert "--memory" in raised.value.hint
