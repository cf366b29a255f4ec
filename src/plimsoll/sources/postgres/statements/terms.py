"""
Define the terms of each conversation with a server: search_path, access of its transactions, and timeouts.

Rule 1: `search_path`, `row_security` and the settings that change answers are set before any query. Otherwise the
        owner of the database chooses them, and the functions found through them run with our rights.
Rule 2: settings of a transaction end with it (`set local`), so that a pooler returns a clean connection to its
        pool. Some conversations need a session of their own and set them for the session.
Rule 3: we wait longer for an answer than the server works on it.
Rule 4: SECURITY.md has a table made of `ALL`; a test compares them.
"""

from msgspec import Struct

APPLICATION_NAME = "plimsoll"

SAFE_PATH = "pg_catalog, pg_temp"
"""
The search_path of our statements.

`pg_temp` is last because PostgreSQL searches it first if it is not listed.
"""

ANSWERS = ("extra_float_digits = 1", "quote_all_identifiers = off", "standard_conforming_strings = on")
"""Settings that change answers; settings of the database could round seconds or quote every name."""

# A database's or a role's settings may ask for serializable and deferrable transactions, which wait.
_READ_ONLY = "begin transaction isolation level read committed, read only, not deferrable"
_READ_WRITE = "begin transaction isolation level read committed, not deferrable"
_SNAPSHOT = "begin transaction isolation level repeatable read, read only, not deferrable"
# For a session in which each statement is a transaction.
_DEFAULTS = ("default_transaction_isolation = 'read committed'", "default_transaction_deferrable = off")

# With these, the system reports a lost connection within about ten seconds.
_KEEPALIVES = (("keepalives_idle", "5"), ("keepalives_interval", "2"), ("keepalives_count", "3"))
_SENT_IN_TIME = ("tcp_user_timeout", "10000")

# Settings of later versions by which the owner of a database would end us, and the cause would look like another.
_NEWER = ((170_000, "transaction_timeout = 0"),)
_NEWER_OF_SESSION = ((140_000, "idle_session_timeout = 0"),)

SPARE_S = 5
"""How much longer than the server we wait: the time of messages, and for a server that is busy."""

END = "rollback"
SIGN_OF_LIFE = "select 1"
"""Asks nothing but for an answer."""


class Terms(Struct, frozen=True, kw_only=True):
    """The terms of all statements of one kind of conversation."""

    commands: str
    """Commands that use these terms, as people type them."""
    access: str
    """What its transactions can do, in words."""
    statements: tuple[str, ...]
    """Files of this folder whose statements it sends."""
    needs: str
    """Rights of the role, in words."""
    begin: str
    """Begins a transaction; empty where each statement is one of its own."""
    statement_s: int | None
    """After which the server ends a statement; None where nothing is set."""
    lock_ms: int | None
    """After which the server gives up waiting for a lock."""
    idle_s: int | None
    """After which the server ends a transaction of ours that nobody ends."""
    answer_s: int
    """After which we wait no longer for an answer, which may be those of some statements together."""
    settings: tuple[str, ...] = ()
    """Further settings."""
    is_of_session: bool = False
    """Whether settings last as long as the connection."""
    connect_s: int = 2
    """How long an attempt to connect may take."""
    tcp: tuple[tuple[str, str], ...] = (*_KEEPALIVES, _SENT_IN_TIME)
    """How libpq learns that a server is gone."""

    @property
    def parameters(self) -> dict[str, str]:
        """Return the parameters to add to the connection string."""
        return {"application_name": APPLICATION_NAME, "connect_timeout": str(self.connect_s), **dict(self.tcp)}

    def guards(self, version_number: int) -> str:
        """Return the settings for a server of a version as one message; empty for a console, which has none."""
        if self.statement_s is None and self.lock_ms is None:
            return ""
        newer = (*_NEWER, *(_NEWER_OF_SESSION if self.is_of_session else ()))
        bounds = {
            "statement_timeout": None if self.statement_s is None else f"'{self.statement_s}s'",
            "lock_timeout": None if self.lock_ms is None else f"'{self.lock_ms}ms'",
            "idle_in_transaction_session_timeout": None if self.idle_s is None else f"'{self.idle_s}s'",
        }
        settings = (
            f"search_path = {SAFE_PATH}",
            "row_security = off",
            *(f"{name} = {value}" for name, value in bounds.items() if value is not None),
            *self.settings,
            *ANSWERS,
            *(setting for since, setting in newer if version_number >= since),
        )
        word = "set" if self.is_of_session else "set local"
        return "; ".join(f"{word} {setting}" for setting in settings)

    def opening(self, version_number: int) -> str:
        """Return the message that begins a transaction and guards it."""
        return f"{self.begin}; {self.guards(version_number)}"


# Two seconds and a tenth are judgements: the statements take about a millisecond, so what takes longer waits
# for something, and a recorder must not be part of what it waits for.
# Ten seconds end a transaction of ours that nobody ends because we were stopped in the middle.
RECORDING = Terms(
    commands="`record host --dsn`, `sweep --dsn`, `explain record` when it connects",
    access="read only",
    statements=("recording",),
    needs="`pg_monitor`",
    begin=_READ_ONLY,
    statement_s=2,
    lock_ms=100,
    idle_s=10,
    answer_s=7,
)

# Without workers or a compiler that a large catalog could tempt the planner to use.
INSPECTION = Terms(
    commands="`inspect`, `diagnose --dsn`, `pool-size --dsn`, `record host --inspect`",
    access="read only",
    statements=("inspection", "wal", "standing", "locks", "recording"),
    needs="`pg_monitor`",
    begin=_READ_ONLY,
    statement_s=2,
    lock_ms=100,
    idle_s=10,
    answer_s=15,
    settings=("jit = off", "max_parallel_workers_per_gather = 0"),
)

# Our own questions; for statements that people name, see `explain`.
EXPLAINING = Terms(
    commands="`explain record`, our own questions",
    access="read only",
    statements=("explain", "recording"),
    needs="`pg_monitor` for `--top`",
    begin=_READ_ONLY,
    statement_s=2,
    lock_ms=100,
    idle_s=10,
    answer_s=7,
    connect_s=5,
    tcp=_KEEPALIVES,
)

# Judgements: the whole proof takes about a second, so what takes a minute waits for something; and a
# lock that is not had at once is somebody else's.
PROOF = Terms(
    commands="`prove toast`",
    access="may write; always rolled back",
    statements=("toast", "tables"),
    needs="`CREATE` on the database, `SELECT` on the table of `--table`",
    begin=_READ_WRITE,
    statement_s=60,
    lock_ms=500,
    idle_s=60,
    answer_s=65,
    settings=("jit = off",),
)

# Of the session, not of a transaction: a slot that goes with its session needs a connection of its own.
# The second one idles in a transaction for as long as a sample lasts, which is 60 s at most.
DECODING = Terms(
    commands="`prove toast --decode`, `inspect --decode-toast`",
    access="read only, and a temporary replication slot",
    statements=("decoding", "tables"),
    needs="`REPLICATION` (on RDS `rds_replication`), `SELECT` on the table",
    begin=_SNAPSHOT,
    statement_s=20,
    lock_ms=500,
    idle_s=180,
    answer_s=25,
    is_of_session=True,
)

# A statement that is not done within a minute is stopped by the server, whatever becomes of us.
SWEEP = Terms(
    commands="`sweep --dsn`",
    access="read only; with `--allow-writes` one table, which it drops",
    statements=("sweep", "tables"),
    needs="`SELECT` on the table; with `--allow-writes` `CREATE` on a schema",
    begin="",
    statement_s=60,
    lock_ms=2000,
    idle_s=None,
    answer_s=65,
    settings=_DEFAULTS,
    is_of_session=True,
    connect_s=5,
    tcp=(),
)

# Every second, so what takes longer than that is of no use any more.
PACING = Terms(
    commands="`pace --dsn`",
    access="read only",
    statements=("pacing",),
    needs="`LOGIN`",
    begin=_READ_ONLY,
    statement_s=2,
    lock_ms=100,
    idle_s=10,
    answer_s=10,
)

# The kernel keeps what a load writes for up to 30 s (Linux, vm.dirty_expire_centisecs), then writes many MB at once, and
# all commits wait behind them. Sixteen pages at a time go to the disk evenly. A rehearsal copies as a load does.
_EVENLY = "backend_flush_after = '128kB'"

# A chunk of a few MiB takes seconds; where the allowance is nearly nothing it may take an hour. A lock is awaited
# where another run, or the one before, still has the same chunk.
LOADING = Terms(
    commands="`load`",
    access="writes: rows to the named table, and its ledger",
    statements=("loading", "tables"),
    needs="`INSERT` on the table; `SELECT`, `INSERT` and `UPDATE` on the ledger, or `CREATE` on the schema to make it",
    begin=_READ_WRITE,
    statement_s=3600,
    lock_ms=60_000,
    idle_s=60,
    answer_s=3605,
    settings=(_EVENLY,),
    connect_s=5,
)

# Its session lives as long as the rehearsal, because a lock of it marks the schema as ours. The longest statement
# ranks the rows of a sample.
REHEARSING = Terms(
    commands="`rehearse`",
    access="writes: a schema of its own, which it drops",
    statements=("rehearsing", "loading", "tables"),
    needs="`CREATE` on the database, `SELECT` on the table",
    begin="",
    statement_s=600,
    lock_ms=2000,
    idle_s=None,
    answer_s=605,
    settings=("jit = off", _EVENLY),
    is_of_session=True,
    connect_s=5,
)

# Consoles know SHOW and no transactions.
CONSOLE = Terms(
    commands="`inspect --pooler`, `lint pooler`",
    access="`SHOW` alone",
    statements=("poolers",),
    needs="of PgBouncer one of its `admin_users` or `stats_users`; of Pgpool-II a user of the server",
    begin="",
    statement_s=None,
    lock_ms=None,
    idle_s=None,
    answer_s=10,
)

ALL = (RECORDING, INSPECTION, EXPLAINING, PROOF, DECODING, SWEEP, PACING, LOADING, REHEARSING, CONSOLE)
"""Every kind of conversation."""
