"""
What a gate is told: an instance's chain of limits, base latencies and the credit clock, as one document.

Rule 1: no limit is written here. The chain is that of `limits.chain_of`, or a file of the user's own.
Rule 2: what is not documented and was chosen is in `BASE_LATENCIES`, with the reason beside it.
Rule 3: capacities are handed over as documented; the daemon alone divides them by the credit clock.
"""

from math import isfinite
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct, field

from plimsoll.catalog.load import Catalog
from plimsoll.errors import DataError, UsageError
from plimsoll.kernel import Stage
from plimsoll.limits import chain_of, legacy_limits_of
from plimsoll.limits.layout import is_aurora, launch_date
from plimsoll.model.instance import Instance
from plimsoll.model.limit import LegacyLimits
from plimsoll.units import KIB, MIB

CLOCK_MAX = 3600.0
"""At this clock 30 minutes of burst pass in half a second; beyond it nothing could be seen."""

# The smallest bound on the page cache that leaves room for what is being read ahead and written back:
# 16 requests of 1 MiB in flight, twice.
MEMORY_MIN_BYTES = 32 * MIB

# Slower than any disk; a larger number was meant in another unit.
LATENCY_MAX_S = 10.0

# Host timers stall for some milliseconds now and then; idle time shorter than this is not lost.
# Measured at 10 and 50 ms on two shared cores: 50 ms kept the delivered rate within 0.1 % of the limit.
SLACK_S = 0.05

# Requests the kernel keeps in flight for readahead and writeback. Measured with 16, 64 and 256: the same
# transactions per second, but writes waited 2.7, 6.5 and 22 ms. 16 is what a block device showed.
MAX_BACKGROUND = 16

# Requests are spread over the stripes by this much of the file, as a striped volume does.
# RDS does not document its stripe; this is the default of LVM (lvcreate(8), --stripesize).
STRIPE_BYTES = 64 * KIB


class Latency(Struct, frozen=True, kw_only=True):
    """What a request takes while nothing waits."""

    read_s: float
    write_s: float


BASE_LATENCIES = {
    "gp2": Latency(read_s=0.0007, write_s=0.0009),
    "gp3": Latency(read_s=0.0008, write_s=0.0010),
    "io1": Latency(read_s=0.0005, write_s=0.0006),
    "io2": Latency(read_s=0.0003, write_s=0.0004),
    "standard": Latency(read_s=0.0080, write_s=0.0080),
}
"""
Judgements, by storage type. Documented are only bounds: single-digit milliseconds for gp2, gp3 and io1,
below a millisecond for io2 (RDS User Guide, chap-storage, read 2026-04-13); nothing for magnetic storage,
which gets the seek of a disk. Within them the usual order of the types is kept, and a write takes a
little longer than a read. They decide what a single client gets, never what a limit lets through.
"""

# Limits of one's own have no storage type; the middle of the types above stands for them.
_WITHOUT_STORAGE = Latency(read_s=0.0005, write_s=0.0006)


class GateSetup(Struct, frozen=True, kw_only=True):
    """What is emulated, and how."""

    instance: Instance
    """Class, engine, storage and launch date, as bought."""
    clock: float = 1.0
    """Credit clock: one emulated minute is 60/clock seconds. 1 ≤ x ≤ CLOCK_MAX."""
    credits: float = 1.0
    """Balance of every bucket at the start, 0–1."""
    memory_bytes: int | None = None
    """Most page cache that the mount may hold; None leaves it to the machine."""
    legacy: bool | None = field(default=None, name="former")
    """Legacy limits of the class: None for those the launch date says, True to insist on them, False for
    today's."""
    mode: Literal["fs", "block"] = "fs"
    """A folder passed through, or ext4 on a loop device over one image file (root)."""
    stages: tuple[Stage, ...] | None = None
    """Limits of one's own in place of the instance's; they have no storage type and no class."""
    limits_name: str = ""
    """Name of the file those limits came from."""
    latency: Latency | None = None
    """None for that of the storage type."""
    is_limited: bool = True
    """False passes everything through at once, with all the rest in place: to measure the gate itself."""
    slack_s: float = SLACK_S
    max_background: int = MAX_BACKGROUND

    @property
    def name(self) -> str:
        """What is emulated, in a word or two: `db.t3.xlarge`, `limits of disk.json`."""
        if self.stages is not None:
            return f"limits of {self.limits_name or 'a file'}"
        return self.instance.db_class or f"{self.instance.storage.kind} storage"


class OwnLimits(Struct, frozen=True, kw_only=True):
    """A chain of one's own, as `--limits FILE` gives it."""

    stages: tuple[Stage, ...]
    latency: Latency | None = None


def check_setup(setup: GateSetup) -> None:
    """
    Refuse numbers that no gate could run with.

    Raises:
        UsageError: the first of them.
    """
    if not 1 <= setup.clock <= CLOCK_MAX:
        raise UsageError(
            f"a credit clock of {setup.clock:g} is not possible",
            f"Give 1 for real time, up to {CLOCK_MAX:g}; 60 makes a minute of a second.",
        )
    if not 0 <= setup.credits <= 1:
        raise UsageError(
            f"a starting balance of {setup.credits:g} is not possible",
            "Give a share of the full bucket, 0 to 1.",
        )
    memory = setup.memory_bytes
    if memory is not None and memory < MEMORY_MIN_BYTES:
        raise UsageError(
            f"a page cache of {memory:,} bytes is too small to read ahead and write back in",
            f"Give at least {MEMORY_MIN_BYTES // MIB} MiB.",
        )
    if setup.latency is not None:
        for seconds in (setup.latency.read_s, setup.latency.write_s):
            if not 0 <= seconds <= LATENCY_MAX_S:
                raise UsageError(
                    f"a base latency of {seconds * 1e3:g} ms is not possible",
                    f"Give 0 to {LATENCY_MAX_S * 1e3:g} ms.",
                )


def config_of(
    setup: GateSetup,
    catalog: Catalog,
    *,
    backing: Path,
    mount: Path,
    socket: Path,
    record: Path,
    is_shared: bool = True,
    image_bytes: int | None = None,
) -> dict[str, Any]:
    """
    Return the daemon's configuration.

    Args:
        setup: what is emulated.
        catalog: the documented limits.
        backing: folder whose files are passed through; absolute, like the other paths.
        mount: folder at which they appear.
        socket: where the daemon listens for questions.
        record: the file it writes its lines to.
        is_shared: whether other accounts of the machine may enter the mount.
        image_bytes: size of the image file in block mode.

    Raises:
        UsageError: numbers that cannot be, or nothing to emulate.
        CatalogError: the class is not in the catalog.
    """
    check_setup(setup)
    chain = stages_of(setup, catalog)
    latency = latency_of(setup)
    image = {} if image_bytes is None else {"image_bytes": image_bytes}
    return image | {
        "backing": str(backing),
        "mount": str(mount),
        "mode": "fs" if setup.mode == "fs" else "block-image",
        "socket": str(socket),
        "record": str(record),
        "allow_other": is_shared,
        "clock": setup.clock,
        "memory_bytes": setup.memory_bytes,
        "slack_s": setup.slack_s,
        "max_background": setup.max_background,
        "chain": chain_document(chain),
        "balance_ratio": [setup.credits] * len(chain),
        "latency_s": {"read": latency.read_s, "write": latency.write_s},
        "is_limited": setup.is_limited,
        "chunk_bytes": STRIPE_BYTES,
    }


def stages_of(setup: GateSetup, catalog: Catalog) -> tuple[Stage, ...]:
    """
    Return the chain to enforce: one's own, or the instance's with legacy limits where they are meant.

    Raises:
        UsageError: the instance has no documented storage limit, or legacy limits were asked for and
            none are known.
        CatalogError: the class is not in the catalog.
    """
    if setup.stages is not None:
        return setup.stages
    instance = setup.instance
    if is_aurora(instance):
        raise UsageError(
            "no EBS or volume limit is documented for Aurora storage, so there is none to emulate",
            "Name an engine and a storage type other than Aurora's, or give --limits FILE.",
        )
    chain = chain_of(instance, catalog, use_legacy=legacy_limits_for(setup, catalog))
    if not chain:
        raise UsageError(
            "there is nothing to emulate: neither a class nor storage with documented limits was given",
            "Give --class db.t3.xlarge, --storage gp2 with --size-gib and --engine, or --limits FILE.",
        )
    return chain


def legacy_limits_for(setup: GateSetup, catalog: Catalog) -> LegacyLimits | None:
    """
    Return the legacy limits the instance is to have; None for today's.

    They are those documented at its launch: an instance keeps them until it is stopped and started.

    Raises:
        UsageError: they were asked for, and none are known.
        CatalogError: the class is not in the catalog.
    """
    if setup.legacy is False or setup.instance.db_class is None:
        return None
    launched = launch_date(setup.instance)
    # Nothing says that the instance is old, so it gets what a new one has.
    if setup.legacy is None and launched is None:
        return None
    known = legacy_limits_of(setup.instance, catalog)
    if not known:
        if not setup.legacy:
            return None
        raise UsageError(
            f"no legacy limits of {setup.instance.db_class} are known for that launch date",
            "Leave them out, or give a --launched before they changed; 'plimsoll limits' lists them.",
        )
    # Several editions may have followed; the instance was born under the first that reached it.
    return known[-1] if launched is None else known[0]


def latency_of(setup: GateSetup) -> Latency:
    """Return the base latency: the given one, or that of the storage type."""
    if setup.latency is not None:
        return setup.latency
    return BASE_LATENCIES.get(setup.instance.storage.kind or "", _WITHOUT_STORAGE)


def chain_document(chain: tuple[Stage, ...]) -> list[dict[str, Any]]:
    """Return the chain as the daemon reads it; rates and capacities are those of one stripe."""
    return [
        {
            "name": stage.name,
            "baseline": stage.baseline,
            "burst": stage.burst,
            "capacity": stage.capacity,
            "counts": "bytes" if stage.counts == "bytes" else "operations",
            "unit_bytes": stage.unit_bytes,
            "stripes": stage.stripes,
        }
        for stage in chain
    ]


def stages_of_document(document: object) -> tuple[Stage, ...]:
    """
    Return the chain that `chain_document` wrote.

    Raises:
        DataError: it is not one.
    """
    try:
        return tuple(_stage(given) for given in msgspec.convert(document, list[_StageFile]))
    except msgspec.ValidationError as error:
        raise DataError(f"not a chain of stages: {error}", "Build the gate again.") from error


def has_credits(stage: Stage) -> bool:
    """Return whether the stage has credits that change what is served, so that a balance means something."""
    return stage.capacity > 0 and stage.burst > stage.baseline


# Unknown fields are refused: a misspelt limit would otherwise be no limit.
class _StageFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: str
    baseline: float
    burst: float | None = None
    capacity: float = 0.0
    counts: Literal["bytes", "operations"]
    unit_bytes: float | None = None
    stripes: int = 1


class _LatencyFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    read: float
    write: float


class _LimitsFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    chain: list[_StageFile]
    latency_s: _LatencyFile | None = None


def parse_limits(text: bytes, name: str) -> OwnLimits:
    """
    Return limits of one's own, out of JSON.

    Args:
        text: `{"chain": [{"name", "baseline", "burst", "capacity", "counts", …}], "latency_s": …}`.
        name: of the file, for messages.

    Raises:
        DataError: not such a document, or a number outside its range; the message names the place.
    """
    try:
        file = msgspec.json.decode(text, type=_LimitsFile)
    except (msgspec.DecodeError, ValueError) as error:
        raise DataError(
            f"limits of '{name}' cannot be read: {error}",
            'They read like {"chain": [{"name": "volume_iops", "counts": "operations", '
            '"baseline": 3000}]}.',
        ) from error
    if not file.chain:
        raise DataError(f"limits of '{name}' have an empty chain", "Give at least one stage.")
    names = [stage.name for stage in file.chain]
    # Balances and changes are told by name.
    if len(set(names)) < len(names):
        raise DataError(f"two stages of '{name}' share a name", "Name each stage once.")
    try:
        stages = tuple(_stage(stage) for stage in file.chain)
    except DataError as error:
        raise DataError(f"limits of '{name}': {error.message}", error.hint) from error
    given = file.latency_s
    return OwnLimits(
        stages=stages,
        latency=None if given is None else Latency(read_s=given.read, write_s=given.write),
    )


def _stage(given: _StageFile) -> Stage:
    for number in (given.baseline, given.burst):
        # The law allows an infinite baseline for what limits nothing; a file leaves such a stage out.
        if number is not None and not (isfinite(number) and number > 0):
            raise DataError(
                f"stage '{given.name}' has a rate of {number}", "It must be finite and above zero."
            )
    return Stage(
        name=given.name,
        baseline=given.baseline,
        burst=given.baseline if given.burst is None else given.burst,
        capacity=given.capacity,
        counts="bytes" if given.counts == "bytes" else "ops",
        unit_bytes=given.unit_bytes,
        stripes=given.stripes,
    )
