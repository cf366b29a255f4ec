"""
An experiment as JSON: the form `plimsoll.experiment/1`, described in docs/reference/experiment-json.md.

Rule: every field is always there; what was not measured is null. Keys are sorted, so equal reports give equal bytes.
"""

from typing import Literal

from msgspec import Struct

from plimsoll.reports.render.json_values import json_bytes, same_fields
from plimsoll_lab.model.experiment import Check, ExperimentFigures, ExperimentReport, PublishedPhase


class PhaseObject(Struct, frozen=True, kw_only=True):
    """One phase."""

    name: str
    """As the experiment calls it: `dirty-tracking`."""
    title: str
    """For people."""
    action: str
    """What changed at its beginning."""
    instance: str
    """Class and storage."""
    window_s: tuple[int, int]
    """Epoch seconds of the emulated time, [start, end)."""
    figures: ExperimentFigures
    """What was measured."""
    published: tuple[PublishedPhase, ...]
    """What the post says about it."""
    headline: str
    """The first sentence of `diagnose`."""
    checks: tuple[Check, ...]
    """What Plimsoll said, with the truth."""
    is_right: bool
    """Whether all of it is true."""


class ExperimentDocument(Struct, frozen=True, kw_only=True):
    """
    Plimsoll experiment.

    What `plimsoll lab run search-service` and `plimsoll lab run claims-pipeline` write with `--format json`. Every field is always present; null means not
    measured. SI units, unrounded.
    """

    schema: Literal["plimsoll.experiment/1"] = "plimsoll.experiment/1"
    """Name and version of this form."""
    name: str
    """Of the experiment."""
    title: str
    """For people."""
    source: str
    """The published post."""
    scale: float
    """Limits and load were divided by this number, and rates are multiplied by it."""
    clock: float
    """Emulated seconds in a real one."""
    machine: str
    """Processors, memory and servers."""
    phases: tuple[PhaseObject, ...]
    """In order."""
    is_right: bool
    """Whether all phases were played, and all that Plimsoll said is true."""
    is_void: bool
    """Whether this machine was too slow in a phase, so that nothing is proved."""
    is_interrupted: bool
    """Whether it was ended before its last phase."""
    notes: tuple[str, ...]
    """Remarks for the reader."""


def render_experiment_json(report: ExperimentReport) -> bytes:
    """Return the report as JSON that ends with a newline."""
    return json_bytes(same_fields(ExperimentDocument, report))
