"""
What a cause does to the service, the worst first; within a severity this decides the order.

A database that is about to stop comes before one whose clients are refused, that before one that waits, and
that before what costs bytes, which are ranked by their bytes. A setting that has done nothing yet comes last.
Rule 1: the order is this list; the spelling of a code never decides.
Rule 2: a code that is not listed costs bytes where it has some, and is a setting where it has none.
"""

from enum import IntEnum

from plimsoll.model.cause import Cause


class Danger(IntEnum):
    """What happens if nobody does anything."""

    STOPS = 0
    """The server stops taking writes, or its storage fills."""
    REFUSES = 1
    """Clients are refused."""
    WAITS = 2
    """Clients wait for something that is not storage."""
    COSTS = 3
    """Bytes are read and written."""
    GROWS = 4
    """Space, dead rows or ids are used up, not yet dangerously."""
    MAY = 5
    """A setting or a habit that may do harm one day."""


_OF_CODE = {
    code: (danger, place)
    for danger, codes in {
        Danger.STOPS: (
            "WraparoundNear",
            "MultixactWraparoundNear",
            "ReplicationSlotHoldsWal",
            "SequenceNearEnd",
        ),
        Danger.REFUSES: (
            "ServerFull",
            "ConnectionStorm",
            "ConnectionLeak",
            "NearMaxConnections",
            "ChildrenTaken",
            "ServersOutliveLifeTime",
        ),
        Danger.WAITS: (
            "BlockedSessions",
            "PoolSaturated",
            "PoolerClientsWaiting",
            "NotTheQuery",
            "MoreActiveThanRuns",
            "AbortedTransactions",
            "IdleInTransaction",
            "SessionsEndedBadly",
            "ShortConnections",
        ),
        Danger.GROWS: (
            "PreparedTransaction",
            "HorizonHeldBack",
            "ReplicationSlotInactive",
            "AutovacuumOff",
            "TableBloat",
            "IndexBloat",
            "InvalidIndex",
        ),
        Danger.MAY: ("AutovacuumTooLate", "AutovacuumDisabled"),
    }.items()
    for place, code in enumerate(codes)
}


def rank_of(cause: Cause) -> tuple[int, int]:
    """Return its danger and its place among those of the same; smaller is worse."""
    known = _OF_CODE.get(cause.code)
    if known is not None:
        return int(known[0]), known[1]
    # What is seen stands before settings of the list that may do harm.
    return int(Danger.COSTS if cause.bytes_per_s else Danger.MAY), -1
