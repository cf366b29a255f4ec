"""How fast cost limits let a vacuum go."""

import pytest

from databases import BLOCK_BYTES, SETTINGS, server
from plimsoll.causes.vacuum.pace import pace_of


def test_paces_follow_the_settings():
    """
    A relation's own limit comes first, −1 means the general one, and no delay means no limit. A
    hundredth of a small ceiling cannot be had with pauses of 2 ms; the pause grows.
    """
    plain = pace_of(SETTINGS, {}, block_bytes=BLOCK_BYTES)
    own = pace_of(SETTINGS, {"autovacuum_vacuum_cost_limit": "2000"}, block_bytes=BLOCK_BYTES)
    free = pace_of(SETTINGS, {"autovacuum_vacuum_cost_delay": "0"}, block_bytes=BLOCK_BYTES)
    by_hand = pace_of(SETTINGS, {}, block_bytes=BLOCK_BYTES, is_automatic=False)
    limit, delay_ms = plain.limit_for(1e6, 1.0, 0.0)

    assert plain.bytes_per_s_max() == pytest.approx(409.6e6)
    assert plain.bytes_per_s_max(0.0, 1.0) == pytest.approx(40.96e6)
    assert own.bytes_per_s_max() == pytest.approx(4096e6)
    assert plain.seconds_of(50_000, 0) == pytest.approx(1.0)
    assert free.bytes_per_s_max() is None
    assert by_hand.bytes_per_s_max() is None
    assert pace_of({}, {}, block_bytes=BLOCK_BYTES) is None
    assert delay_ms > 2
    assert limit / (delay_ms / 1000) == pytest.approx(1e6 / BLOCK_BYTES * 2, rel=0.1)
    assert server().settings["vacuum_cost_page_miss"] == "2"
