"""Simulated answers of Performance Insights: sessions by wait event, statement, user and host."""

from plimsoll.model.session_load import KeyLoad, SessionLoad, SessionSpan, StretchKind, WaitLoad

COPY = "COPY claims (id, member_id, body) FROM STDIN WITH (FORMAT csv)"
UPDATE = "UPDATE members SET plan = $1, valid_to = $2 WHERE id = $3"
SELECT = "SELECT c.id, c.body FROM claims c JOIN members m ON m.id = c.member_id WHERE m.plan = $1"

SPLIT = {
    COPY: {"IO:WALWrite": 2.1, "IO:DataFileExtend": 1.4, "CPU:CPU": 0.5},
    UPDATE: {"IO:DataFileRead": 1.9, "Lock:transactionid": 0.6},
    SELECT: {"IO:DataFileRead": 0.7, "CPU:CPU": 0.2},
}


def waits(split: dict[str, float]) -> tuple[WaitLoad, ...]:
    """Wait events from `type:name`."""
    found = []
    for event, sessions in split.items():
        kind, _, name = event.partition(":")
        found.append(WaitLoad(type=kind, name=name, sessions=sessions))
    return tuple(found)


def key(text: str, split: dict[str, float], *, key_id: str = "") -> KeyLoad:
    """A statement or a name with what its sessions waited for."""
    return KeyLoad(id=key_id, text=text, sessions=sum(split.values()), waits=waits(split))


def span(
    start_s: int,
    end_s: int,
    statements: dict[str, dict[str, float]] = SPLIT,
    *,
    users: dict[str, dict[str, float]] | None = None,
    hosts: dict[str, dict[str, float]] | None = None,
    idle: dict[str, float] | None = None,
) -> SessionSpan:
    """One stretch; what waits is the sum of its statements, and of sessions without one."""
    total: dict[str, float] = dict(idle or {})
    for split in statements.values():
        for event, sessions in split.items():
            total[event] = total.get(event, 0.0) + sessions
    return SessionSpan(
        start_s=start_s,
        end_s=end_s,
        waits=waits(total),
        statements=tuple(key(text, split, key_id=f"{sum(text.encode()):040X}") for text, split in statements.items()),
        users=tuple(key(name, split) for name, split in (users or {}).items()),
        hosts=tuple(key(name, split) for name, split in (hosts or {}).items()),
    )


def session_load(during_s: tuple[int, int], outside_s: tuple[int, int] | None) -> SessionLoad:
    """A load that writes and updates, and before it one that only reads a little."""
    outside = None if outside_s is None else span(*outside_s, {SELECT: {"IO:DataFileRead": 0.05}})
    return SessionLoad(
        why=StretchKind.CEILING,
        during=span(
            *during_s,
            users={
                "etl": {"IO:WALWrite": 2.1, "IO:DataFileExtend": 1.4, "IO:DataFileRead": 1.9},
                "app": {"IO:DataFileRead": 0.7},
            },
            hosts={"10.0.4.17": {"IO:WALWrite": 2.1, "IO:DataFileExtend": 1.4}},
            idle={"Timeout:VacuumDelay": 0.1},
        ),
        outside=outside,
    )
