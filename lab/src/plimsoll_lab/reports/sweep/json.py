"""
Sweeps as JSON, every point and the limits found: the form `plimsoll.sweep/1`, described in
docs/reference/sweep-json.md.

Rule: every field is always there; what is not known is null.
"""

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from plimsoll.reports.render.json_values import json_text
from plimsoll_lab.model.sweep import SweepReport


class SweepDocument(Struct, frozen=True, kw_only=True):
    """
    Plimsoll sweep.

    What `plimsoll sweep` and `plimsoll lab run io-size-sweep` write. Every field is always present;
    null means not known or does not apply. SI units throughout: seconds, bytes, operations, ratios
    0–1.
    """

    schema: Literal["plimsoll.sweep/1"] = "plimsoll.sweep/1"
    """Name and version of this form."""
    configurations: tuple[SweepReport, ...]
    """The measurements, one entry for each configuration; a sweep of a path or a server has one."""


def render_sweep_json(reports: Sequence[SweepReport]) -> str:
    """Return all configurations as JSON."""
    return json_text(SweepDocument(configurations=tuple(reports)))
