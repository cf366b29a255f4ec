"""How much a vacuum weighs: by the shares that are told of it, and by whether anybody else works."""

import msgspec
import pytest

from databases import (
    BLOCK_BYTES,
    START_S,
    budget,
    glance,
    io_row,
    observation,
    reading,
    table,
    vacuum,
)
from plimsoll.causes.vacuum import causes
from plimsoll.model.database import Observation

GIB = 1024**3


def short(window_s: float = 10.0) -> Observation:
    """
    A vacuum that was seen for three seconds at 120 MB/s, of which the load does not know yet.
    """
    owner = table(16384, "public.orders", size_bytes=GIB)
    run = vacuum(owner, scanned_blocks=round(360e6 / BLOCK_BYTES), running_s=3.0)
    io = (io_row("autovacuum worker"),)
    return observation(
        reading(relations=(owner,), io=io),
        reading(START_S + window_s, relations=(owner,), io=io),
        glances=(
            glance(0, vacuums=(msgspec.structs.replace(run, scanned_blocks=0, running_s=0.0),)),
            glance(3, vacuums=(run,)),
        ),
    )


@pytest.mark.parametrize(
    ("load", "severity"), [(100e6, "critical"), (200e6, "warning"), (1000e6, "note")]
)
def test_a_vacuum_weighs_by_the_share_that_is_told(load: float, severity: str):
    """
    Three of ten seconds at 120 MB/s are 36 MB/s: 26, 15 and 3 % of the load and its own bytes.
    """
    (cause,) = causes(short(), budget(load, 0.0))

    assert pytest.approx(36e6 / (load + 36e6), rel=0.01) == cause.share_of_load
    assert severity == cause.severity


def test_where_nobody_else_works_nobody_is_kept_waiting():
    """
    Of a server that does nothing else it has nearly all bytes, and is a note; with a ceiling it counts.
    """
    idle = budget(0.1e6, 0.2e6)
    (alone,) = causes(short(), idle)
    (held,) = causes(short(), msgspec.structs.replace(idle, ceiling_bytes_per_s=200e6))
    (beside,) = causes(short(), budget(0.6e6, 0.0))

    assert alone.share_of_load > 0.9
    assert "note" == alone.severity
    assert "there was nobody to keep waiting" in alone.text
    assert ("critical", "critical") == (held.severity, beside.severity)
    assert "nobody to keep" not in beside.text


def test_a_ceiling_is_held_against_the_pace_while_it_ran():
    """
    120 MB/s are a quarter of 480 MB/s, however short it took; of the load they are next to nothing.
    """
    (cause,) = causes(short(600.0), budget(1000e6, 0.0, ceiling_bytes_per_s=479e6))

    assert "critical" == cause.severity
    assert cause.share_of_load < 0.01


def test_a_load_that_is_estimated_knows_a_vacuum_that_is_over():
    """
    Before 16 the load is an estimate of blocks that were read, those of vacuums that ended among them.
    """
    seen = short()
    seen = msgspec.structs.replace(
        seen,
        server=msgspec.structs.replace(seen.server, version_number=150018),
        first=msgspec.structs.replace(seen.first, io=None),
        last=msgspec.structs.replace(seen.last, io=None),
    )
    over = msgspec.structs.replace(seen, glances=(*seen.glances, glance(5)))
    (running,) = causes(seen, budget(100e6, 0.0, is_estimated=True))
    (ended,) = causes(over, budget(100e6, 0.0, is_estimated=True))

    assert pytest.approx(36 / 136, rel=0.01) == running.share_of_load
    assert pytest.approx(36 / 100, rel=0.01) == ended.share_of_load
