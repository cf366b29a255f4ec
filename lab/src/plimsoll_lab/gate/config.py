"""
Configure a gate: an instance's chain of limits, base latencies and the credit clock, as one document.

Rule 1: no limit is defined here. The chain comes from `limits.chain_of`, or from a file of the user.
Rule 2: what is not documented and was chosen is in `BASE_LATENCIES`, with the reason.
Rule 3: capacities are passed on as documented; only the daemon divides them by the credit clock.
"""

from dataclasses import replace
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

SCALE_MAX = 1000.0
"""At this scale the largest class would serve a few requests of 64 KiB a second."""

CLOCK_MAX = 3600.0
"""At this clock 30 minutes of burst pass in half a second; nothing could be observed at a faster one."""

# The smallest page cache with room for readahead and writeback: 16 requests of 1 MiB in flight for each.
MEMORY_MIN_BYTES = 32 * MIB

# Slower than any disk; a larger number was probably meant in another unit.
LATENCY_MAX_S = 10.0

# Host timers sometimes stall for some milliseconds. Idle time shorter than this is not lost to the client.
# Measured with 10 and 50 ms on two shared cores: 50 ms kept the delivered rate within 0.1 % of the limit.
SLACK_S = 0.05

# Requests that the kernel keeps in flight for readahead and writeback. Measured with 16, 64 and 256: the same
# transactions per second, but writes waited 2.7, 6.5 and 22 ms. A block device behaved like 16.
MAX_BACKGROUND = 16

# The largest request of a volume (EBS User Guide, "Amazon EBS I/O characteristics and monitoring"): somebody else's has
# its turn after so many bytes. At a scale it has it after a part of them, so that a turn takes as long.
_TURN_BYTES = 256 * KIB
# Less would be several turns for one page of memory.
_TURN_MIN_BYTES = 4 * KIB

# Requests are distributed over the stripes in pieces of this size, as on a striped volume.
# RDS does not document its stripe; this is the default of LVM (lvcreate(8), --stripesize).
STRIPE_BYTES = 64 * KIB


class Latency(Struct, frozen=True, kw_only=True):
    """Set how long a request takes when nothing waits."""

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
Judgements, by storage type. Only bounds are documented: single-digit milliseconds for gp2, gp3 and io1,
below a millisecond for io2 (RDS User Guide, chap-storage, read 2026-04-13). Nothing is documented for
magnetic storage, so it has the seek time of a disk. Within the bounds the usual order of the types is kept,
and a write takes a little longer than a read. They decide the rate of a single client, never the rate that
a limit allows.
"""

# Limits from a file have no storage type; they use the middle of the types above.
_WITHOUT_STORAGE = Latency(read_s=0.0005, write_s=0.0006)


class GateSetup(Struct, frozen=True, kw_only=True):
    """Describe what is emulated, and how."""

    instance: Instance
    """Class, engine, storage and launch date, as bought."""
    clock: float = 1.0
    """Credit clock: one emulated minute is 60/clock seconds. 1 ≤ x ≤ CLOCK_MAX."""
    credits: float = 1.0
    """Balance of every bucket at the start, 0–1."""
    memory_bytes: int | None = None
    """Most page cache for the mount; None for no bound besides the machine's memory."""
    legacy: bool | None = field(default=None, name="former")
    """Legacy limits of the class: None decides by the launch date, True requires them, False takes today's."""
    mode: Literal["fs", "block"] = "fs"
    """Pass a folder through, or serve ext4 on a loop device over one image file (root)."""
    stages: tuple[Stage, ...] | None = None
    """Limits from a file instead of the instance's; they have no storage type and no class."""
    limits_name: str = ""
    """Name of the file with those limits."""
    latency: Latency | None = None
    """Base latency; None for that of the storage type."""
    scale: float = 1.0
    """
    Every limit and every bucket is enforced divided by this number, ≥ 1: one of so many equal parts of the load
    runs here. Latencies stay as they are.
    """
    is_limited: bool = True
    """False lets every request through at once, with everything else in place: to measure the gate itself."""
    slack_s: float = SLACK_S
    max_background: int = MAX_BACKGROUND

    @property
    def name(self) -> str:
        """Return what is emulated, in a few words: `db.t3.xlarge`, `limits of disk.json`."""
        if self.stages is not None:
            return f"limits of {self.limits_name or 'a file'}"
        return self.instance.db_class or f"{self.instance.storage.kind} storage"


class OwnLimits(Struct, frozen=True, kw_only=True):
    """Describe a chain from a file, as given with `--limits FILE`."""

    stages: tuple[Stage, ...]
    latency: Latency | None = None


def check_setup(setup: GateSetup) -> None:
    """
    Check the numbers of a setup.

    Raises:
        UsageError: the first number that no gate can run with.
    """
    if not 1 <= setup.clock <= CLOCK_MAX:
        raise UsageError(
            f"a credit clock of {setup.clock:g} is not possible",
            f"Give 1 for real time, up to {CLOCK_MAX:g}; at 60 a minute takes one second.",
        )
    if not 1 <= setup.scale <= SCALE_MAX:
        raise UsageError(
            f"a scale of 1:{setup.scale:g} is not possible",
            f"Give 1 for the whole limits, up to {SCALE_MAX:g} for a part of them.",
        )
    if not 0 <= setup.credits <= 1:
        raise UsageError(
            f"a starting balance of {setup.credits:g} is not possible", "Give a share of the full bucket, from 0 to 1."
        )
    memory = setup.memory_bytes
    if memory is not None and memory < MEMORY_MIN_BYTES:
        raise UsageError(
            f"a page cache of {memory:,} bytes is too small for readahead and writeback",
            f"Give at least {MEMORY_MIN_BYTES // MIB} MiB.",
        )
    if setup.latency is not None:
        for seconds in (setup.latency.read_s, setup.latency.write_s):
            if not 0 <= seconds <= LATENCY_MAX_S:
                raise UsageError(
                    f"a base latency of {seconds * 1e3:g} ms is not possible", f"Give 0 to {LATENCY_MAX_S * 1e3:g} ms."
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
        backing: folder whose files are passed through; absolute, like the other paths.
        mount: folder where they appear.
        socket: where the daemon listens for questions.
        record: the file to which the daemon writes its lines.
        is_shared: whether other accounts of the machine may use the mount.
        image_bytes: size of the image file in block mode.
        image_bytes: size of the image file in block mode.

    Raises:
        UsageError: a number is not possible, or there is nothing to emulate.
        CatalogError: the class is not in the catalog.
    """
    check_setup(setup)
    chain = enforced_stages_of(setup, catalog)
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
        "portion_bytes": max(_TURN_BYTES / setup.scale, _TURN_MIN_BYTES),
        "chain": chain_document(chain),
        "balance_ratio": [setup.credits] * len(chain),
        "latency_s": {"read": latency.read_s, "write": latency.write_s},
        "is_limited": setup.is_limited,
        "chunk_bytes": STRIPE_BYTES,
    }


def enforced_stages_of(setup: GateSetup, catalog: Catalog) -> tuple[Stage, ...]:
    """
    Return the chain that the daemon enforces: that of `stages_of`, divided by the scale.

    Raises:
        UsageError: as `stages_of`.
        CatalogError: the class is not in the catalog.
    """
    return tuple(part_of(stage, setup.scale) for stage in stages_of(setup, catalog))


def part_of(stage: Stage, scale: float) -> Stage:
    """Return a stage that allows one of `scale` equal parts; of `1 / scale` parts, the whole again."""
    return replace(stage, baseline=stage.baseline / scale, burst=stage.burst / scale, capacity=stage.capacity / scale)


def stages_of(setup: GateSetup, catalog: Catalog) -> tuple[Stage, ...]:
    """
    Return the chain that is emulated: from the file, or the instance's with legacy limits where they apply.

    Raises:
        UsageError: the instance has no documented storage limit, or legacy limits were requested and
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
    Return the legacy limits of the instance; None for today's.

    They are those documented at its launch: an instance keeps them until it is stopped and started.

    Raises:
        UsageError: they were requested, and none are known.
        CatalogError: the class is not in the catalog.
    """
    if setup.legacy is False or setup.instance.db_class is None:
        return None
    launched = launch_date(setup.instance)
    # Nothing suggests that the instance is old, so it has the limits of a new one.
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
    # Several changes may have followed; the first one after the launch ended the limits it started with.
    return known[-1] if launched is None else known[0]


def scale_of(setup: GateSetup) -> str:
    """Return a sentence about the scale: one part of the load ran, and rates are multiplied."""
    return (
        f"Scale 1:{setup.scale:g}: one of {setup.scale:g} equal parts ran under limits divided by "
        f"{setup.scale:g}. Rates and queue depth are multiplied by it, latencies are as measured."
    )


def latency_of(setup: GateSetup) -> Latency:
    """Return the given base latency, or that of the storage type."""
    if setup.latency is not None:
        return setup.latency
    return BASE_LATENCIES.get(setup.instance.storage.kind or "", _WITHOUT_STORAGE)


def chain_document(chain: tuple[Stage, ...]) -> list[dict[str, Any]]:
    """Return the chain in the daemon's format; rates and capacities are those of one stripe."""
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
    Return the chain from a document that `chain_document` wrote.

    Raises:
        DataError: the document is not a chain.
    """
    try:
        return tuple(_stage(given) for given in msgspec.convert(document, list[_StageFile]))
    except msgspec.ValidationError as error:
        raise DataError(f"not a chain of stages: {error}", "Build the gate again.") from error


def has_credits(stage: Stage) -> bool:
    """Return whether credits change the rate of the stage, so that it has a meaningful balance."""
    return stage.capacity > 0 and stage.burst > stage.baseline


# Refuse unknown fields: a misspelt limit would otherwise silently not apply.
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
    Parse limits from a JSON file.

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
            f"unable to read the limits in '{name}': {error}",
            'Write them like this: {"chain": [{"name": "volume_iops", "counts": "operations", "baseline": 3000}]}.',
        ) from error
    if not file.chain:
        raise DataError(f"the chain in '{name}' is empty", "Give at least one stage.")
    names = [stage.name for stage in file.chain]
    # Balances and changes refer to a stage by its name.
    if len(set(names)) < len(names):
        raise DataError(f"two stages in '{name}' share a name", "Name each stage once.")
    try:
        stages = tuple(_stage(stage) for stage in file.chain)
    except DataError as error:
        raise DataError(f"limits of '{name}': {error.message}", error.hint) from error
    given = file.latency_s
    return OwnLimits(stages=stages, latency=None if given is None else Latency(read_s=given.read, write_s=given.write))


def _stage(given: _StageFile) -> Stage:
    for number in (given.baseline, given.burst):
        # The law accepts an infinite baseline for a stage without a limit; a file leaves out such a stage.
        if number is not None and not (isfinite(number) and number > 0):
            raise DataError(f"stage '{given.name}' has a rate of {number}", "It must be finite and above zero.")
    return Stage(
        name=given.name,
        baseline=given.baseline,
        burst=given.baseline if given.burst is None else given.burst,
        capacity=given.capacity,
        counts="bytes" if given.counts == "bytes" else "ops",
        unit_bytes=given.unit_bytes,
        stripes=given.stripes,
    )
