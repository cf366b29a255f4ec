"""
Observe the poolers of a server that is full.

Rule: the server's own refusal is kept, and nothing is assumed about the server.
"""

import time
from collections.abc import Callable, Sequence

from plimsoll.errors import PlimsollError
from plimsoll.model.database import Counters, DatabaseReading, Observation, PoolerReading, ServerInfo
from plimsoll.sources.postgres.pg_stat import place_of

# A judgement: faster changes of a pooler do not matter.
_EVERY_S = 5.0
_NOTHING = Counters(committed=0, rolled_back=0, temp_files=0, temp_bytes=0, blocks_read=0, blocks_hit=0)


def observe_poolers(
    dsn: str,
    reason: str,
    *,
    duration_s: float,
    poolers: Sequence[Callable[[], PoolerReading]] = (),
    clock: Callable[[], float] = time.time,
    sleep: Callable[[float], None] = time.sleep,
) -> Observation:
    """
    Read the poolers in front of a server that takes no more connections.

    Args:
        dsn: of the server; only its place is used.
        reason: the refusal of the server.
        duration_s: how long poolers are watched, ≥ 0; without any it is over at once.
        poolers: each reads one pooler.
        clock: epoch seconds.
        sleep: waits so many seconds.
    """
    start_s = clock()
    readings: list[PoolerReading] = []
    silent: dict[str, str] = {}

    def read_all() -> None:
        for read in poolers:
            try:
                readings.append(read())
            except PlimsollError as error:
                silent["pooler"] = f"{error.message}. {error.hint}"

    read_all()
    try:
        while readings and (left_s := start_s + duration_s - clock()) > 0:
            sleep(min(left_s, _EVERY_S))
            read_all()
    except KeyboardInterrupt:
        read_all()
    end_s = clock()
    return Observation(
        server=ServerInfo(
            place=place_of(dsn),
            role="",
            version="",
            version_number=0,
            is_standby=False,
            block_bytes=8192,
            toast_chunk_bytes=None,
            connection_max=0,
            reserved_connections=0,
        ),
        first=DatabaseReading(time_s=start_s, counters=_NOTHING),
        last=DatabaseReading(time_s=end_s, counters=_NOTHING),
        poolers=tuple(readings),
        full=reason,
        missing=tuple(silent.items()),
    )
