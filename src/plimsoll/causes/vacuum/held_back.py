"""
Find what keeps a server from removing dead rows and WAL: slots, prepared transactions, old snapshots.

Vacuum removes a dead row when no snapshot can see it; WAL is removed when no slot needs it. The oldest one
decides. Rule 1: the WAL that a slot retains is measured. For dead rows an upper bound is given, all of this
database, and the text says so. Rule 2: short retention is normal; duration, age and amount decide the severity.
"""

from collections.abc import Sequence
from math import ceil

from plimsoll.causes.budget import Budget, ranked
from plimsoll.causes.checks import literal, prepared_of, slot_of
from plimsoll.causes.growth import setting_of
from plimsoll.causes.settled import after_check
from plimsoll.model.cause import Cause, CauseKind, Remedy
from plimsoll.model.database import Observation
from plimsoll.model.diagnosis import Evidence
from plimsoll.model.postgres import FREEZE_MAX_AGE, MAX_WAL_SIZE_MIB, WAL_SEGMENT_BYTES
from plimsoll.model.severity import Severity
from plimsoll.model.standing import PreparedTransaction, ReplicationSlot, XminHolder
from plimsoll.units import GIB, MIB, format_bytes, format_duration, format_ratio, number

# Judgements. A transaction below five seconds is normal; after an hour it was forgotten. A transaction manager
# ends what it has prepared within a second.
_NOTABLE_S, _FORGOTTEN_S = 5.0, 3600.0
# A judgement: a subscriber that restarts is back within a minute.
_SLOT_IDLE_S = 60.0
_PREPARED_S = (60.0, 3600.0)
# Judgements: a tenth of all rows dead, and 10 MiB of them, slow down scans noticeably.
_DEAD_SHARE = 0.1
_DEAD_BYTES = 10 * MIB
_HOLDERS_MOST = 5


def causes(observation: Observation, budget: Budget) -> tuple[Cause, ...]:
    """Return slots and prepared transactions one by one, sessions with old snapshots as one finding."""
    del budget  # Retained rows and WAL move no bytes.
    standing = observation.standing
    if standing is None:
        return ()
    found = [
        *(_of_slot(observation, slot) for slot in standing.slots or ()),
        *(_of_prepared(observation, one) for one in standing.prepared or ()),
        _of_holders(observation, standing.holders or ()),
    ]
    return ranked([cause for cause in found if cause is not None])


def dead_bytes(observation: Observation) -> tuple[int, float, float]:
    """Return dead rows of this database, their bytes by the mean size of a row, and their share of all rows."""
    rows, bytes_dead, every = 0, 0.0, 0.0
    for relation in observation.last.relations:
        there = relation.rows + relation.dead_rows
        rows += relation.dead_rows
        every += there
        if there:
            bytes_dead += relation.size_bytes * relation.dead_rows / there
    return rows, bytes_dead, rows / every if every else 0.0


def _dead(observation: Observation) -> Evidence:
    rows, bytes_dead, share = dead_bytes(observation)
    return Evidence(
        kind="dead rows",
        text=f"{number(rows)} dead rows of about {format_bytes(bytes_dead)} are in this database "
        f"({format_ratio(share)} of all rows); at most these cannot be removed",
        value=bytes_dead,
    )


def _of_slot(observation: Observation, slot: ReplicationSlot) -> Cause | None:
    if slot.is_temporary:
        return None
    retained = slot.retained_bytes or 0.0
    normal = (setting_of(observation, "max_wal_size") or MAX_WAL_SIZE_MIB) * MIB
    is_lost = slot.wal_status == "lost"
    is_beyond = slot.wal_status in ("extended", "unreserved") or retained > normal
    is_idle = not slot.is_active
    if not (is_idle or is_beyond or is_lost):
        return None
    is_fresh = is_idle and slot.unused_s is not None and slot.unused_s < _SLOT_IDLE_S
    severity: Severity = "warning"
    if is_idle and is_beyond:
        severity = "critical"
    elif is_idle and not is_lost and (is_fresh or retained < WAL_SEGMENT_BYTES):
        severity = "note"
    what = "is unused" if is_idle else f"is {format_bytes(retained)} behind"
    if is_lost:
        what = "has lost the WAL that it needs"
    age = max(slot.xmin_age or 0, slot.catalog_xmin_age or 0)
    return Cause(
        kind=CauseKind.HELD_BACK,
        code="ReplicationSlotHoldsWal" if is_beyond and not is_lost else "ReplicationSlotInactive",
        severity=severity,
        subject=slot.name,
        title=f"Replication slot {slot.name} {what} and retains {format_bytes(retained)} of WAL"
        + (f" and the dead rows of {number(age)} transactions" if age else ""),
        text=_bound(slot),
        evidence=(
            Evidence(
                kind="slot",
                text=f"{slot.kind} slot"
                + (f" of database {slot.database}" if slot.database else "")
                + f", wal_status {slot.wal_status or 'unknown'}"
                + (f", unused for {format_duration(slot.unused_s)}" if slot.unused_s else ""),
                value=retained,
                reference=normal,
            ),
            *_kept_rows(observation, slot),
        ),
        remedies=_slot_remedies(observation, slot),
        refuted_by="Its consumer reconnects and catches up, so the retained WAL falls.",
    )


def _bound(slot: ReplicationSlot) -> str:
    if slot.wal_status == "lost":
        return "Its consumer cannot continue and must be set up again."
    if slot.safe_bytes is None:
        return (
            "It has no limit (max_slot_wal_keep_size = -1): WAL is retained until the storage is full, and "
            "then the server stops."
        )
    return (
        f"After {format_bytes(max(slot.safe_bytes, 0.0))} more WAL the slot is invalidated, and its consumer must be "
        "set up again."
    )


def _kept_rows(observation: Observation, slot: ReplicationSlot) -> tuple[Evidence, ...]:
    if slot.xmin_age:
        return (_dead(observation),)
    if slot.catalog_xmin_age:
        return (
            Evidence(
                kind="dead rows",
                text=f"dead rows of system catalogs are retained for {number(slot.catalog_xmin_age)} transactions",
                value=float(slot.catalog_xmin_age),
            ),
        )
    return ()


def _slot_remedies(observation: Observation, slot: ReplicationSlot) -> tuple[Remedy, ...]:
    name = literal(slot.name)
    drop = after_check(
        Remedy(
            text="Then drop it. A subscriber or standby that still needs it must be set up again.",
            commands=(f"SELECT pg_drop_replication_slot({name});",),
            expected=f"{format_bytes(slot.retained_bytes or 0.0)} of WAL are removed at the next checkpoint.",
        ),
        (slot_of(slot.name),),
        settles="Find its consumer: a standby (primary_slot_name), a subscription or a connector of that name. "
        "If none is left, and restart_lsn stays as it is, nothing needs the slot.",
    )
    # Above what the slot retains now, so that the limit itself breaks no consumer.
    normal = (setting_of(observation, "max_wal_size") or MAX_WAL_SIZE_MIB) * MIB
    most = ceil(max(2 * (slot.retained_bytes or 0.0), 4 * normal) / GIB)
    keep = Remedy(
        text=f"Limit what a slot may retain, well below the free space: {most} GiB are twice what this one "
        "retains, or four times max_wal_size. A consumer that falls back further must be set up again.",
        settings=(("max_slot_wal_keep_size", f"{most}GB"),),
    )
    if slot.is_active:
        return (Remedy(text="Check why its consumer is slow: network, one large transaction, its own disk."), keep)
    has_limit = slot.safe_bytes is not None or slot.wal_status == "lost"
    return (drop,) if has_limit else (drop, keep)


def _of_prepared(observation: Observation, one: PreparedTransaction) -> Cause | None:
    if one.age_s < _NOTABLE_S:
        return None
    notable, forgotten = _PREPARED_S
    severity: Severity = "critical" if one.age_s >= forgotten else "warning" if one.age_s >= notable else "note"
    _, bytes_dead, _ = dead_bytes(observation)
    gid = literal(one.gid)
    return Cause(
        kind=CauseKind.HELD_BACK,
        code="PreparedTransaction",
        severity=severity,
        subject=one.gid,
        title=f"Prepared transaction '{one.gid}' of {one.owner} has been open for "
        f"{format_duration(one.age_s)}: it holds its locks and prevents removal of up to {format_bytes(bytes_dead)} of "
        "dead rows",
        text="It survives restarts, and no timeout ends it. Vacuum cannot remove rows that died since, and "
        "transaction IDs are used up.",
        evidence=(
            Evidence(
                kind="age",
                text=f"in database {one.database}; {number(one.xid_age)} transactions old",
                value=float(one.xid_age),
            ),
            _dead(observation),
        ),
        remedies=(
            after_check(
                Remedy(
                    text=f"If not, roll it back in database {one.database}.", commands=(f"ROLLBACK PREPARED {gid};",)
                ),
                (prepared_of(one.gid),),
                settles=f"Check whether it is still there, and whether the transaction manager of {one.owner} "
                "knows it.",
            ),
            Remedy(
                text="If no application uses two-phase commit, disable it once pg_prepared_xacts is empty: with "
                "one left in it, the server does not start again.",
                settings=(("max_prepared_transactions", "0"),),
            ),
        ),
        refuted_by="It is gone a moment later, because its transaction manager ended it.",
    )


def _of_holders(observation: Observation, holders: Sequence[XminHolder]) -> Cause | None:
    """Return a finding about the oldest snapshot, with the next oldest as evidence."""
    old = [one for one in holders if (one.transaction_s or 0.0) >= _NOTABLE_S]
    if not old:
        return None
    first = old[0]
    rows, bytes_dead, share = dead_bytes(observation)
    open_s = first.transaction_s or 0.0
    freeze = setting_of(observation, "autovacuum_freeze_max_age") or FREEZE_MAX_AGE
    is_felt = share >= _DEAD_SHARE and bytes_dead >= _DEAD_BYTES
    if first.xid_age >= freeze:
        severity: Severity = "critical"
    elif open_s >= _FORGOTTEN_S or (is_felt and open_s >= _PREPARED_S[0]):
        severity = "warning"
    elif rows and first.xid_age > 1:
        severity = "note"
    else:
        return None
    return Cause(
        kind=CauseKind.HELD_BACK,
        code="HorizonHeldBack",
        severity=severity,
        subject=f"process {first.pid}",
        title=f"Process {first.pid} of {_name(first)} has held a snapshot for {format_duration(open_s)}: it "
        f"prevents removal of up to {format_bytes(bytes_dead)} of dead rows",
        text=f"{number(first.xid_age)} transactions began since. Vacuum cannot remove rows that died since, "
        "in any table, so scans still read them.",
        evidence=(*(_line(one) for one in old[:_HOLDERS_MOST]), _dead(observation)),
        remedies=(
            Remedy(
                text="Make its application end the transaction. If that is not possible, terminate its session; "
                "check what it does first.",
                commands=(f"SELECT pg_terminate_backend({first.pid});",),
                expected="The next vacuum removes these dead rows; the files keep their size.",
            ),
            Remedy(
                text="Run long reports and dumps on a replica without hot_standby_feedback, and let the "
                "server end idle transactions.",
                settings=(("idle_in_transaction_session_timeout", "60s"),),
            ),
        ),
        refuted_by="Its backend_xmin in pg_stat_activity advances, because it takes a new snapshot for each statement.",
    )


def _line(one: XminHolder) -> Evidence:
    text = f"process {one.pid}, {_name(one)}: {one.state or one.backend_type or 'state hidden'} for "
    text += f"{format_duration(one.transaction_s or 0.0)}, {number(one.xid_age)} transactions old"
    if one.statement:
        text += f"; {one.statement}"
    return Evidence(kind="holder", text=text, value=float(one.xid_age))


def _name(one: XminHolder) -> str:
    name = one.user or one.backend_type or "unknown user"
    return f"{name} '{one.application}'" if one.application else name
