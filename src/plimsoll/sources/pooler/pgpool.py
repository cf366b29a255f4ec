"""
Read Pgpool-II by SHOW commands over an ordinary connection.

Rule 1: our own visit is in none of the numbers.
Rule 2: its times are local times of its own machine; what they are against ours is learned from
        the moment at which it saw us come.
Source: Pgpool-II manual, "SHOW POOL_POOLS" and "SHOW POOL_STATUS", editions 3.7 to 4.7; columns are
taken by name, since releases add and rename some.
"""

from datetime import datetime

from plimsoll.model.database import CachedServer, PoolerReading
from plimsoll.sources.pooler.console import Answer, Console, number
from plimsoll.sources.postgres.statements import poolers

_SECRETS = ("pass", "user", "auth", "key", "hash", "secret")
_UNSET = "(null)"
# "2026-11-20 16:20:31 (4:59 before process restarting)"
_TIME_CHARACTERS = 19


def read_pgpool(console: Console, time_s: float) -> PoolerReading:
    """
    Return what it says at `time_s`, epoch seconds, the moment at which we had connected.

    Raises:
        SourceError: the server is not Pgpool-II, or refused a command.
    """
    version = console.show(poolers.PGPOOL_VERSION)
    status = console.show(poolers.POOL_STATUS)
    rows = console.show(poolers.POOL_POOLS)
    ours = {
        (row["pool_pid"], row["pool_id"]) for row in rows if number(row.get("pool_backendpid")) == console.server_pid
    }
    shift_s = _shift_s([row for row in rows if (row["pool_pid"], row["pool_id"]) in ours], time_s)
    others = [row for row in rows if row["database"] and (row["pool_pid"], row["pool_id"]) not in ours]
    return PoolerReading(
        kind="pgpool",
        place=console.place,
        # "4.3.5 (tamahomeboshi)"
        version=next(iter(version[0].values())).split()[0] if version else "",
        time_s=time_s,
        settings=_settings(status),
        cached=tuple(_cached(row, time_s + shift_s) for row in others),
        clients=len({row["pool_pid"] for row in others if _is_connected(row)}),
    )


def _settings(status: Answer) -> dict[str, str]:
    """Return the settings, without `backend status0` and the like."""
    return {
        row["item"]: "" if row["value"] == _UNSET else row["value"]
        for row in status
        if " " not in row["item"] and not any(word in row["item"] for word in _SECRETS)
    }


def _cached(row: dict[str, str], now_s: float) -> CachedServer:
    made_s = _time_s(row.get("backend_connection_time") or row.get("create_time"))
    left_s = _time_s(row.get("client_disconnection_time"))
    is_connected = _is_connected(row)
    return CachedServer(
        child_pid=int(row["pool_pid"]),
        database=row["database"],
        user=row["username"],
        backend=int(row["backend_id"]),
        age_s=max(now_s - made_s, 0.0) if made_s is not None else None,
        idle_s=max(now_s - left_s, 0.0) if left_s is not None and not is_connected else None,
        is_connected=is_connected,
    )


def _is_connected(row: dict[str, str]) -> bool:
    return row.get("pool_connected") == "1"


def _shift_s(ours: Answer, time_s: float) -> float:
    """
    Return the difference of its local time, read as UTC, from epoch seconds.

    Releases before 4.3 do not say when a client came; then its clock and zone are taken to be ours.
    """
    for row in ours:
        came_s = _time_s(row.get("client_connection_time"))
        if came_s is not None:
            return came_s - time_s
    here = datetime.fromtimestamp(time_s).astimezone().utcoffset()
    return here.total_seconds() if here is not None else 0.0


def _time_s(text: str | None) -> float | None:
    """Return epoch seconds of a local time read as UTC; None if there is none."""
    try:
        moment = datetime.fromisoformat(f"{(text or '')[:_TIME_CHARACTERS]}+00:00")
    except ValueError:
        return None
    return moment.timestamp()
