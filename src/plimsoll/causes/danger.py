"""
Rank causes of equal severity by what they do to the service.

A server about to stop comes first, then refused clients, then waiting clients, then bytes (ranked by their
number). A setting that has had no effect yet comes last.
Rule 1: the order is this list; the spelling of a code never decides.
Rule 2: a code that is not listed counts by its bytes; without bytes it counts as a setting.
"""

from enum import IntEnum

from plimsoll.model.cause import Cause


class Danger(IntEnum):
    """What happens without action."""

    STOPS = 0
    """The server stops taking writes, or its storage fills."""
    REFUSES = 1
    """Clients are refused."""
    WAITS = 2
    """Clients wait, but not for storage."""
    COSTS = 3
    """Bytes are read and written."""
    GROWS = 4
    """Space, dead rows or ids are used up, not yet dangerously."""
    MAY = 5
    """A setting that may do harm later."""


_OF_CODE = {
    code: (danger, place)
    for danger, codes in {
        Danger.STOPS: ("WraparoundNear", "MultixactWraparoundNear", "ReplicationSlotHoldsWal", "SequenceNearEnd"),
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
            "ClientsCutWhileIdle",
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
        Danger.MAY: ("AutovacuumTooLate", "AutovacuumDisabled", "ToastParametersDetached"),
    }.items()
    for place, code in enumerate(codes)
}


def rank_of(cause: Cause) -> tuple[int, int]:
    """Return the danger of a cause and its place within that; smaller is worse."""
    known = _OF_CODE.get(cause.code)
    if known is not None:
        return int(known[0]), known[1]
    # Observed effects come before listed settings that may do harm later.
    return int(Danger.COSTS if cause.bytes_per_s else Danger.MAY), -1
