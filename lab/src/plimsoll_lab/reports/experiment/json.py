"""
An experiment as JSON: the form `plimsoll.experiment/1`, described in docs/reference/experiment-json.md.

Rule: every field is always there; what was not measured is null. Keys are sorted, so equal reports give equal bytes.
"""

from typing import Literal

from msgspec import Struct

from plimsoll.reports.render.json_values import json_bytes, same_fields
from plimsoll_lab.model.experiment import ExperimentReport


class PublishedPhaseObject(Struct, frozen=True, kw_only=True):
    """A statement of the published post about a phase."""

    name: str
    """What it is about: `throughput`, `effect`."""
    text: str
    """What the post says."""


class CheckObject(Struct, frozen=True, kw_only=True):
    """One thing that Plimsoll said about a phase, compared with the truth."""

    command: str
    """`diagnose`, `inspect`, `plan`, `compare`, `explain compare` or `pace`."""
    expected: str
    """What is true."""
    found: str
    """What Plimsoll said."""
    is_right: bool
    """Whether the two agree."""


class FiguresObject(Struct, frozen=True, kw_only=True):
    """
    Measurements of a phase.

    Rates and the queue are multiplied by the scale; times are as measured.
    """

    minutes: float
    """Emulated minutes of the phase."""
    read_bytes_per_s: float | None
    """Bytes read from storage."""
    write_bytes_per_s: float | None
    """Bytes written to storage."""
    ops_per_s: float | None
    """Reads and writes."""
    read_latency_s: float | None
    """Mean time of a read."""
    write_latency_s: float | None
    """Mean time of a write."""
    queue_depth: float | None
    """Requests that waited or were in service, on average."""
    throttled_minutes: float
    """Emulated minutes in which a limit made requests wait, by the gate."""
    applied_per_s: float | None
    """Events that the service applied."""
    lag_start: int | None
    """Events that waited at the beginning; not multiplied."""
    lag_end: int | None
    """Events that waited at the end; not multiplied."""
    response_s_p50: float | None
    """Median time of the application's query."""
    response_s_p95: float | None
    """Time within which 95 of 100 of them were done."""
    freshness_s_p50: float | None
    """Median time from a change to its document in the index."""
    freshness_s_p99: float | None
    """The same, of 99 in 100."""
    dead_tuples_per_update: float | None
    """Dead tuples that an update of the large table left, TOAST included."""
    vacuum_due_minutes: float | None
    """Emulated minutes after which a vacuum of the TOAST relation is due again."""
    loading_minutes: float | None
    """Emulated minutes until the last file was loaded."""
    refresh_minutes: float | None
    """Emulated minutes for the views of the job that took longest."""
    jobs_minutes: float | None
    """Emulated minutes until the last job was done."""
    byte_balance_start: float | None
    """Throughput credits of the instance at the beginning, 0–1."""
    byte_balance_min: float | None
    """The fewest of them, 0–1."""


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
    figures: FiguresObject
    """What was measured."""
    published: tuple[PublishedPhaseObject, ...]
    """What the post says about it."""
    headline: str
    """The first sentence of `diagnose`."""
    checks: tuple[CheckObject, ...]
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
