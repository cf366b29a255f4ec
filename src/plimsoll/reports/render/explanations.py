"""
What explains a finding: a few sentences at the end of a page, and the page of the documentation that says more.

Rule 1: a page links to an entry of its own, because a page that was sent to somebody reaches no other.
Rule 2: this is the only place with these texts; each names a document that exists, by the stem of its file.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from plimsoll.model.cause import CauseKind
from plimsoll.model.ceiling import Family
from plimsoll.model.family import FAMILIES


class Topic(StrEnum):
    """What an entry is about; it becomes a part of the address of the entry."""

    CEILING = "ceiling"
    UNKNOWN_LIMIT = "unknown-limit"
    CREDITS = "credits"
    WAITING = "waiting"
    LOADING = "loading"
    RESOURCE = "resource"
    UNUSED_PURCHASE = "unused-purchase"
    PENDING = "pending"
    NO_CEILING = "no-ceiling"
    DEMAND = "demand"
    OPTIONS = "options"
    LIMITS = "limits"
    COMPARISON = "comparison"
    OVERVIEW = "overview"
    VACUUM = "vacuum"
    TOAST = "toast"
    AUTOVACUUM = "autovacuum"
    WAL = "wal"
    SPILLS = "spills"
    LOADS = "loads"
    SCANS = "scans"
    INDEXES = "indexes"
    STATEMENTS = "statements"
    CONNECTIONS = "connections"
    LOCKS = "locks"
    NUMBERS = "numbers"
    HELD_BACK = "held-back"
    BLOAT = "bloat"
    POOLER = "pooler"
    POOL_SIZE = "pool-size"
    QUERY_PLANS = "query-plans"
    SWEEP = "sweep"
    PACE = "pace"
    REHEARSAL = "rehearsal"
    EXPERIMENT = "experiment"


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """How findings of one kind are known."""

    topic: Topic
    title: str
    text: str
    """Whole sentences."""
    document: str
    """Stem of the file in the documentation: the argument of `plimsoll docs`."""

    @property
    def command(self) -> str:
        """Return the command that prints the document."""
        return f"plimsoll docs {self.document}"


_RECOGNISED = "how-a-ceiling-is-recognised"
_DEMAND = "how-demand-is-recovered"
_INSPECT = "inspect-a-database"

_TEXTS: dict[Topic, tuple[str, str, str]] = {
    Topic.CEILING: (
        "Time at a ceiling",
        (
            "No metric shows a limit. Plimsoll looks for a rate that the samples return to and do not exceed while "
            "requests wait. It compares that rate with every documented limit of this instance, current and legacy, "
            "and adds up the signs for and against. The evidence lists each sign; “Wrong if” says what would disprove "
            "the result."
        ),
        _RECOGNISED,
    ),
    Topic.UNKNOWN_LIMIT: (
        "A limit of unknown origin",
        (
            "Throughput stayed at one rate while requests waited, as it does at a limit. The rate is no documented "
            "limit of this class and storage. The limit may belong to an older class, to the host, or to a limiter in "
            "front of the storage."
        ),
        _RECOGNISED,
    ),
    Topic.CREDITS: (
        "Credits",
        (
            "An instance or volume may go faster than its baseline while it has credits. Credits arrive at the "
            "baseline rate and are used by every request. Plimsoll reads the balance metric where AWS reports one, and "
            "otherwise replays the served rates through the bucket. At zero, only the baseline is left."
        ),
        _RECOGNISED,
    ),
    Topic.WAITING: (
        "Waiting without a known ceiling",
        (
            "Requests took much longer than on the same storage without load, for minutes, and the rate was at no known "
            "limit. The possible causes are listed with what would confirm each of them."
        ),
        _RECOGNISED,
    ),
    Topic.LOADING: (
        "Storage that is still being loaded",
        (
            "After a restore from a snapshot, blocks come from Amazon S3 when they are first read. Latency is then high "
            "at a low rate. This is no limit of the instance, and it ends when every block was read once."
        ),
        _RECOGNISED,
    ),
    Topic.RESOURCE: (
        "Resources near or at a limit",
        (
            "CPU, memory, connections, network and space are compared with their documented limits for this class: the "
            "peak, the 99th percentile, and the time above 80 %. “Near” means that the peak came close, not that "
            "requests had to wait."
        ),
        "limits",
    ),
    Topic.UNUSED_PURCHASE: (
        "Storage that the class cannot use",
        (
            "The volumes are provisioned for more than the instance class can transfer. The lower of the two limits "
            "applies, so the rest is paid for and has no effect."
        ),
        "limits",
    ),
    Topic.PENDING: (
        "A change that is pending",
        (
            "RDS reports a change that was requested and is not applied yet. The limits in this report are those from "
            "before the change."
        ),
        "read-from-aws",
    ),
    Topic.NO_CEILING: (
        "No ceiling was reached",
        (
            "In no interval did the rate stay at a limit while requests waited. This holds for the window of this "
            "report only. A busier hour may reach a limit."
        ),
        _RECOGNISED,
    ),
    Topic.DEMAND: (
        "Demand at a ceiling",
        (
            "While a limit holds, metrics show what was served, not what was asked for. Plimsoll replays several "
            "plausible demands, each with a weight: work that was dropped, queued or retried. A chance such as 60 % is "
            "the share of these cases in which a change is enough."
        ),
        _DEMAND,
    ),
    Topic.OPTIONS: (
        "Options and prices",
        (
            "Each option is one class and storage that can be bought. Its limits are replayed against the plausible "
            "demands, minute by minute. Prices are the on-demand prices of the catalog for this region, unless a price "
            "file was given."
        ),
        "plan-the-way-past",
    ),
    Topic.LIMITS: (
        "Limits by I/O size",
        (
            "Every request passes the limits of the instance and of the volumes, in bytes and in operations. Small "
            "requests reach a limit of operations first, large ones a limit of bytes. At the knee, both are reached at "
            "the same size. The numbers are AWS's; the sources are listed."
        ),
        "limits",
    ),
    Topic.COMPARISON: (
        "Before and after",
        (
            "Both windows are diagnosed in the same way and compared at the same hours where possible. The result counts "
            "time at a ceiling, not averages, because an average hides the minutes in which requests waited."
        ),
        "compare-before-and-after",
    ),
    Topic.OVERVIEW: (
        "Many instances",
        (
            "Each instance is diagnosed alone, and the list begins with those that were at a limit for the longest time. "
            "“Unknown” means that samples are missing, not that nothing was found."
        ),
        _RECOGNISED,
    ),
    Topic.VACUUM: (
        "Vacuum",
        (
            "The server lists running vacuums with their phase and progress, and counts their bytes when they end. A "
            "running one is estimated from its progress. A vacuum is a problem if it takes a large part of the ceiling "
            "while clients wait."
        ),
        _INSPECT,
    ),
    Topic.TOAST: (
        "Large values written again",
        (
            "PostgreSQL stores large values outside the row, in TOAST chunks, and writes them again when an update sends "
            "them unchanged. Counters show how many chunks were written. Whether the value was equal follows from "
            "sizes, from the statements, or from a sample of decoded changes."
        ),
        "find-rewritten-values",
    ),
    Topic.AUTOVACUUM: (
        "Settings of autovacuum",
        (
            "A vacuum starts after a number of dead rows that grows with the table. On a very large table the default "
            "lets tens of millions of dead rows collect, and one vacuum then reads and writes for hours."
        ),
        _INSPECT,
    ),
    Topic.WAL: (
        "WAL and checkpoints",
        (
            "Every change is written to WAL, and changed pages again at a checkpoint. After each checkpoint the first "
            "change of a page writes the whole page to WAL. Checkpoints that are too frequent make this part large; it "
            "is the part that can be avoided."
        ),
        _INSPECT,
    ),
    Topic.SPILLS: (
        "Temporary files",
        (
            "A sort, a hash or a decoded transaction that exceeds its memory goes to files, and is read back. The server "
            "counts these bytes by database and by statement."
        ),
        _INSPECT,
    ),
    Topic.LOADS: (
        "Bulk loads",
        (
            "A load writes pages, index entries and WAL, which is intended. The first reader after it marks the new rows "
            "as committed and so changes their pages again. A vacuum after the load does this once, at a time you "
            "choose."
        ),
        _INSPECT,
    ),
    Topic.SCANS: (
        "Sequential scans",
        (
            "The server counts how many rows were read in order, and how many blocks came from storage. An index helps "
            "only if the query needs few of the rows."
        ),
        _INSPECT,
    ),
    Topic.INDEXES: (
        "Indexes that nobody reads",
        (
            "Every write maintains every index. An index without a scan since the counters began costs writes and gives "
            "nothing, unless a constraint or a replica needs it. The finding says since when the counters run."
        ),
        _INSPECT,
    ),
    Topic.STATEMENTS: (
        "Statements that read or write most",
        (
            "The extension pg_stat_statements counts blocks and time of each statement. Two readings show the part of "
            "this window. A statement is slow because of storage if it touches as many blocks as before and each of "
            "them takes longer."
        ),
        _INSPECT,
    ),
    Topic.CONNECTIONS: (
        "Connections",
        (
            "The list of sessions shows who holds connections and in which state. More active sessions than the machine "
            "can run slow each other down; idle ones cost little."
        ),
        "size-a-pool",
    ),
    Topic.LOCKS: (
        "Sessions that wait for a lock",
        (
            "The server shows which session waits for which. The finding names the session at the root, because those "
            "between it and the last one wait as well."
        ),
        _INSPECT,
    ),
    Topic.NUMBERS: (
        "Numbers that run out",
        (
            "Transaction IDs, multixacts and sequences are numbers with an end. At the end, the server refuses writes or "
            "the insert fails. The time left is what remains divided by the rate in this window, which may be the "
            "busiest or the quietest of the week."
        ),
        _INSPECT,
    ),
    Topic.HELD_BACK: (
        "What keeps old rows and WAL",
        (
            "Vacuum removes a dead row when no snapshot can see it, and WAL is removed when no slot needs it. The oldest "
            "snapshot or slot decides. The bytes of WAL are measured; those of dead rows are an upper bound."
        ),
        _INSPECT,
    ),
    Topic.BLOAT: (
        "Empty space in tables and indexes",
        (
            "The pages that the rows need, by their number and mean width, are compared with the actual size. It is an "
            "estimate, and rather too small."
        ),
        _INSPECT,
    ),
    Topic.POOLER: (
        "Poolers",
        (
            "Settings are checked against each other, against the release notes of the pooler, and against "
            "max_connections of the server. If the pooler was asked, its own counters show waiting clients and full "
            "pools."
        ),
        "lint-a-pooler",
    ),
    Topic.POOL_SIZE: (
        "The size of a pool",
        (
            "Two bounds apply. The server refuses connections above max_connections. Above a number of active sessions "
            "that depends on the machine, more of them serve no more. A pool is an upper bound, but after a stall all "
            "its connections are active at once."
        ),
        "size-a-pool",
    ),
    Topic.QUERY_PLANS: (
        "Two executions of one statement",
        (
            "The same plan over the same blocks in more time means that the query is not the cause. A different plan, "
            "other rows, or fewer blocks found in memory are checked first. What was not recorded is not assumed to be "
            "equal."
        ),
        "compare-plans",
    ),
    Topic.SWEEP: (
        "Measured limits by I/O size",
        (
            "Requests of several sizes are sent to the storage, and the rate is measured at each. Up to the knee, the "
            "operations stay constant; above it, the bytes."
        ),
        "measure-io-sizes",
    ),
    Topic.PACE: (
        "The rate of a batch",
        (
            "The ceilings of the instance, less what others take and a reserve of credits, give the rate that the batch "
            "may have until its end. What is not known is not assumed to be free."
        ),
        "pace-a-load",
    ),
    Topic.REHEARSAL: (
        "The time of a load",
        (
            "A sample of the rows was loaded into a scratch table. The work that it caused is scaled to the whole load "
            "and replayed through the limits of each class."
        ),
        "rehearse-a-load",
    ),
    Topic.EXPERIMENT: (
        "An experiment with known limits",
        (
            "Real servers ran under limits that Plimsoll set, so the truth is known. Each phase was read back like an "
            "instance in an account, and what Plimsoll said is compared with what was set."
        ),
        "play-the-search-service",
    ),
}

EXPLANATIONS = {
    topic: Explanation(topic=topic, title=title, text=text, document=document)
    for topic, (title, text, document) in _TEXTS.items()
}
"""Every explanation by its topic."""

_STORAGE = (Family.INSTANCE_EBS_THROUGHPUT, Family.INSTANCE_EBS_IOPS, Family.VOLUME_THROUGHPUT, Family.VOLUME_IOPS)
_BY_CODE = (
    {facts.code: Topic.RESOURCE for facts in FAMILIES.values()}
    | {FAMILIES[family].code: Topic.CEILING for family in _STORAGE}
    | {facts.exhausted_code: Topic.CREDITS for facts in FAMILIES.values() if facts.exhausted_code}
    | {
        FAMILIES[Family.UNKNOWN].code: Topic.UNKNOWN_LIMIT,
        FAMILIES[Family.CPU_CREDITS].code: Topic.CREDITS,
        "CPUCreditsCharged": Topic.CREDITS,
        "StorageBeyondInstance": Topic.UNUSED_PURCHASE,
        "ChangePending": Topic.PENDING,
        "NoCeilingReached": Topic.NO_CEILING,
        "StorageLazyLoading": Topic.LOADING,
        "UnexplainedStorageWaiting": Topic.WAITING,
    }
)

_BY_KIND = {
    CauseKind.VACUUM: Topic.VACUUM,
    CauseKind.TOAST: Topic.TOAST,
    CauseKind.AUTOVACUUM_SETTINGS: Topic.AUTOVACUUM,
    CauseKind.CHECKPOINTS: Topic.WAL,
    CauseKind.WAL: Topic.WAL,
    CauseKind.TEMPORARY_FILES: Topic.SPILLS,
    CauseKind.BULK_LOADS: Topic.LOADS,
    CauseKind.HINT_BITS: Topic.LOADS,
    CauseKind.DECODING: Topic.SPILLS,
    CauseKind.SEQUENTIAL_SCANS: Topic.SCANS,
    CauseKind.UNUSED_INDEXES: Topic.INDEXES,
    CauseKind.PLANS: Topic.STATEMENTS,
    CauseKind.CONNECTIONS: Topic.CONNECTIONS,
    CauseKind.LOCKS: Topic.LOCKS,
    CauseKind.WRAPAROUND: Topic.NUMBERS,
    CauseKind.HELD_BACK: Topic.HELD_BACK,
    CauseKind.BLOAT: Topic.BLOAT,
    CauseKind.SEQUENCES: Topic.NUMBERS,
    CauseKind.POOLER: Topic.POOLER,
}


def topic_of_finding(code: str) -> Topic | None:
    """Return what explains a finding of a diagnosis, by its reason code; None for a code from elsewhere."""
    return _BY_CODE.get(code)


def topic_of_cause(kind: CauseKind) -> Topic:
    """Return what explains a cause inside a database or its pooler."""
    return _BY_KIND[kind]


def explanations_of(topics: Iterable[Topic | None]) -> tuple[Explanation, ...]:
    """Return the explanations of these topics, each once, in their order."""
    return tuple(EXPLANATIONS[topic] for topic in dict.fromkeys(topics) if topic)
