"""Sweeps as JSON: every point, the limits found, and what they are held against."""

from collections.abc import Sequence

import msgspec

from plimsoll.model.sweep import SWEEP_SCHEMA, SweepReport


def render_sweep_json(reports: Sequence[SweepReport]) -> str:
    """All configurations as one indented document that ends with a newline."""
    document = {"schema": SWEEP_SCHEMA, "configurations": list(reports)}
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"
