"""Read who waits for whose lock, if a sample of sessions shows a wait for a lock."""

from msgspec.structs import replace

from plimsoll.model.database import LockWait, Session
from plimsoll.sources.postgres.connect import NoAnswer, ServerConnection
from plimsoll.sources.postgres.rows import masked
from plimsoll.sources.postgres.statements.locks import LOCK_WAITS


def with_locks(
    connection: ServerConnection, sessions: tuple[Session, ...]
) -> tuple[tuple[Session, ...], tuple[LockWait, ...]]:
    """
    Return the sessions with the statements of those involved, and who waits for whom.

    Raises:
        NoAnswer: the connection is lost. A question that is refused leaves all as it was.
    """
    if not any(session.wait_event_type == "Lock" for session in sessions):
        return sessions, ()
    try:
        (rows,) = connection.ask(LOCK_WAITS)
    except NoAnswer as why:
        if why.is_connection_lost:
            raise
        return sessions, ()
    statements = {pid: masked(statement) for pid, _, statement in rows}
    waits = tuple(LockWait(pid=pid, blocked_by=tuple(dict.fromkeys(blockers))) for pid, blockers, _ in rows if blockers)
    return (
        tuple(
            replace(session, statement=statements[session.pid]) if session.pid in statements else session
            for session in sessions
        ),
        waits,
    )
