"""How much a vacuum weighs: by its reported shares, and by whether anybody else works."""

import msgspec
import pytest

from databases import BLOCK_BYTES, START_S, budget, glance, io_row, observation, reading, table, vacuum
from plimsoll.causes.vacuum.vacuum import causes
from plimsoll.model.database import Observation
from unit.causes.vacuum.test_vacuum import without_io

GIB = 1024**3


def short(window_s: float = 10.0, *, began_s: float = 3600.0) -> Observation:
    """A vacuum of hours, of which three seconds were seen at 120 MB/s; the load does not know of it yet."""
    owner = table(16384, "public.orders", size_bytes=GIB)
    run = vacuum(owner, scanned_blocks=round(360e6 / BLOCK_BYTES), running_s=began_s + 3.0)
    io = (io_row("autovacuum worker"),)
    return observation(
        reading(relations=(owner,), io=io),
        reading(START_S + window_s, relations=(owner,), io=io),
        glances=(
            glance(0, vacuums=(msgspec.structs.replace(run, scanned_blocks=0, running_s=began_s),)),
            glance(3, vacuums=(run,)),
        ),
    )


@pytest.mark.parametrize(("load", "severity"), [(100e6, "critical"), (200e6, "warning"), (1000e6, "note")])
def test_a_vacuum_weighs_by_the_share_that_is_reported(load: float, severity: str):
    """Three of ten seconds at 120 MB/s are 36 MB/s: 26, 15 and 3 % of the load and its own bytes."""
    (cause,) = causes(short(), budget(load, 0.0))

    assert pytest.approx(36e6 / (load + 36e6), rel=0.01) == cause.share_of_load
    assert severity == cause.severity


def test_what_comes_once_and_is_soon_over_is_a_note():
    """Any healthy server has such a minute: it is a note with a reason, unless it repeats or a ceiling is known."""
    load = budget(100e6, 0.0)
    (once,) = causes(short(began_s=0.0), load)
    (held,) = causes(short(began_s=0.0), budget(100e6, 0.0, ceiling_bytes_per_s=400e6))
    seen = short(began_s=0.0)
    later = tuple(
        msgspec.structs.replace(
            g, time_s=g.time_s + 5, vacuums=tuple(msgspec.structs.replace(v, pid=201) for v in g.vacuums)
        )
        for g in seen.glances
    )
    (again,) = causes(msgspec.structs.replace(seen, glances=(*seen.glances, *later)), load)

    assert "note" == once.severity
    assert "its share of this short window is chance" in once.text
    assert ("critical", "critical") == (held.severity, again.severity)
    assert "chance" not in held.text + again.text
    assert any("First check the updates" in remedy.text for remedy in again.remedies)


def test_where_nobody_else_works_nobody_is_kept_waiting():
    """Of a server that does nothing else it has nearly all bytes, and is a note; with a ceiling it counts."""
    idle = budget(0.1e6, 0.2e6)
    (alone,) = causes(short(), idle)
    (held,) = causes(short(), msgspec.structs.replace(idle, ceiling_bytes_per_s=200e6))
    (beside,) = causes(short(), budget(0.6e6, 0.0))

    assert alone.share_of_load > 0.9
    assert "note" == alone.severity
    assert "so nobody had to wait" in alone.text
    assert ("critical", "critical") == (held.severity, beside.severity)
    assert "nobody to keep" not in beside.text


def test_a_ceiling_is_compared_with_the_pace_while_it_ran():
    """120 MB/s are a quarter of 480 MB/s, however short it took; of the load they are next to nothing."""
    (cause,) = causes(short(600.0), budget(1000e6, 0.0, ceiling_bytes_per_s=479e6))

    assert "critical" == cause.severity
    assert cause.share_of_load < 0.01


def test_a_load_that_is_estimated_knows_a_vacuum_that_is_over():
    """Before 16 the load is an estimate of blocks that were read, those of vacuums that ended among them."""
    seen = without_io(short())
    over = msgspec.structs.replace(seen, glances=(*seen.glances, glance(5)))
    (running,) = causes(seen, budget(100e6, 0.0, is_estimated=True))
    (ended,) = causes(over, budget(100e6, 0.0, is_estimated=True))

    assert pytest.approx(36 / 136, rel=0.01) == running.share_of_load
    assert pytest.approx(36 / 100, rel=0.01) == ended.share_of_load
