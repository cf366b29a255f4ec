"""
Findings about storage that is still loaded from S3, which is slow for another reason than a limit.

Its sign is high latency at a low rate (RDS User Guide: data that is not loaded yet is fetched from
Amazon S3 when it is first read).
"""

import numpy as np

from plimsoll.diagnosis.epochs import LOADING_CODE, LOADING_MOVES, Loading
from plimsoll.diagnosis.frame import Frame
from plimsoll.model.diagnosis import Finding
from plimsoll.units import format_clock, format_latency


def loading_findings(frame: Frame | None, loadings: tuple[Loading, ...]) -> tuple[Finding, ...]:
    """Return one finding for each loading that overlaps the measured time, with its read latency."""
    if frame is None or not frame.size:
        return ()
    found = []
    for loading in loadings:
        inside = (frame.time_s >= loading.start_s) & (frame.time_s < loading.end_s)
        if inside.any():
            found.append(_finding(frame, loading, inside))
    return tuple(found)


def _finding(frame: Frame, loading: Loading, inside: np.ndarray) -> Finding:
    reads = _median(frame.read_latency_s[inside])
    # Reads only: a write needs no block from S3.
    others = _median(frame.read_latency_s[~inside])
    seen = ""
    if reads is not None:
        seen = f"; reads took {format_latency(reads)} (median)"
        if others is not None:
            seen += f", {format_latency(others)} at other times of the window"
    return Finding(
        code=LOADING_CODE,
        severity="note",
        title=f"{loading.label}: storage is slower until it has finished{seen}",
        text=(
            "Blocks are fetched from S3 when they are first read. High latency in these hours does "
            "not show a limit. AWS does not document how long this lasts; this report assumes until "
            f"{format_clock(loading.end_s)} UTC."
        ),
        moves=(*LOADING_MOVES, f"Diagnose the time after it: --from {_iso(loading.end_s)}."),
    )


def _median(values: np.ndarray) -> float | None:
    known = values[np.isfinite(values)]
    return float(np.median(known)) if known.size else None


def _iso(epoch_s: int) -> str:
    return format_clock(epoch_s).replace(" ", "T") + "Z"
