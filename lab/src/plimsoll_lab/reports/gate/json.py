"""
The state of a gate as JSON: the form `plimsoll.gate-status/1`, described in docs/reference/gate-status-json.md.

Rule: every field is always there; what is not known or does not apply is null.
"""

from typing import Literal

from msgspec import Struct

from plimsoll.model.written import Positive, Ratio
from plimsoll.reports.render.json_values import json_text, same_fields


class StageObject(Struct, frozen=True, kw_only=True):
    """One limit of the chain that each request passes. Rates and capacity are those of one volume."""

    name: str
    """The limit, for example `instance_ebs_throughput`, or its name in a file of limits."""
    baseline: Positive | None
    """Rate that can be sustained, in bytes/s or operations/s; null for no limit."""
    burst: Positive | None
    """Rate while credits last, in the same unit; equal to the baseline without credits."""
    capacity: Positive
    """Most credits the bucket holds, in bytes or operations; 0 without credits."""
    start_balance: Positive | None
    """Credits at the start, in bytes or operations; null for a full bucket."""
    counts: Literal["bytes", "ops"]
    """What it limits."""
    unit_bytes: Positive | None
    """Largest request that counts as one operation, in bytes; null where the size does not matter."""
    sequential_ratio: Ratio
    """Share of the requests, 0–1, that are small, sequential and merged up to `unit_bytes`."""
    stripes: int
    """Volumes over which requests are spread evenly, each with these numbers."""


class GateStatusDocument(Struct, frozen=True, kw_only=True):
    """
    Plimsoll state of a gate.

    What `plimsoll gate status --format json` writes. Every field is always present; null means not
    known or does not apply. Seconds, bytes, operations and ratios 0–1, unrounded.
    """

    schema: Literal["plimsoll.gate-status/1"] = "plimsoll.gate-status/1"
    """Name and version of this form."""
    emulated: str
    """The emulated setup, for example `db.t3.xlarge, gp2, 1,000 GiB`."""
    mount: str
    """Folder where the files appear."""
    credit_clock: float
    """Emulated seconds in each real second."""
    emulated_minute_s: float
    """Real seconds in each emulated minute."""
    balance: dict[str, float | None]
    """Credits left, 0–1, by the name of the stage; null for a stage without credits."""
    read_bytes_per_s: Positive
    """Bytes/s read in the last second."""
    write_bytes_per_s: Positive
    """Bytes/s written in the last second."""
    read_ops_per_s: Positive
    """Reads per second in the last second."""
    write_ops_per_s: Positive
    """Writes per second in the last second."""
    queue_depth: Positive
    """Mean number of requests that waited or were in service in the last second."""
    late_ratio: Ratio
    """Share of all operations so far, 0–1, that completed too late because of the real disk."""
    late_s_max: Positive
    """The longest such delay so far, in seconds."""
    binding: str | None
    """The stage that made requests wait in the last second; null for none."""
    phase: Literal["baseline", "burst", "fixed"] | None
    """Which number of that stage it was; null for none."""
    chain: tuple[StageObject, ...]
    """The limits, in the order in which requests pass them."""
    clock: float
    """The same as `credit_clock`."""


def render_gate_status(status: object, *, emulated: str, mount: str, clock: float, emulated_minute_s: float) -> str:
    """
    Return the state of a gate as JSON.

    Args:
        status: has the rates, balances and stages under the names that the form gives them.
        emulated: what is emulated, for people.
        mount: folder where the files appear.
        clock: emulated seconds in each real second.
        emulated_minute_s: real seconds in each emulated minute.
    """
    document = same_fields(
        GateStatusDocument,
        status,
        emulated=emulated,
        mount=mount,
        credit_clock=clock,
        emulated_minute_s=emulated_minute_s,
    )
    return json_text(document)
