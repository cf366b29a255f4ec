"""Dagster: a sensor that starts a job when the database has I/O budget, and an op that loads at its pace."""

import os
import time

import dagster

import plimsoll

TARGET = os.environ.get("PLIMSOLL_TARGET", "rds:orders-primary")
NEEDED_BYTES_PER_S = 5e6


@dagster.op
def load(context: dagster.OpExecutionContext) -> None:
    """Hold a batch to the rate that the storage allows; replace the loop with your own."""
    with plimsoll.open_pace(TARGET) as pace:
        for chunk in (b"x" * 65_536,) * 4:
            pace.wait(len(chunk))
    context.log.info("%s bytes went", f"{pace.sent_bytes:,}")


@dagster.job
def claims() -> None:
    """Load one batch."""
    load()


@dagster.sensor(job=claims, minimum_interval_seconds=60)
def io_budget(
    context: dagster.SensorEvaluationContext,  # noqa: ARG001 - Dagster passes it
) -> dagster.RunRequest | dagster.SkipReason:
    """Start one run an hour, and only if metrics show that a batch may go."""
    try:
        snapshot = plimsoll.read(TARGET, options=_last_half_hour())
        found = plimsoll.allowance(snapshot, now_s=_now_s())
    except plimsoll.PlimsollError as error:
        return dagster.SkipReason(f"no reading: {error.message}")
    if found.basis.value != "measured":
        return dagster.SkipReason("; ".join(found.notes))
    if found.unstepped_bytes_per_s < NEEDED_BYTES_PER_S:
        return dagster.SkipReason(f"only {found.unstepped_bytes_per_s / 1e6:.1f} MB/s are left")
    return dagster.RunRequest(run_key=time.strftime("%Y-%m-%dT%H", time.gmtime()))


def _is_live() -> bool:
    return TARGET.startswith(("rds:", "prom:"))


def _last_half_hour() -> plimsoll.ReadOptions:
    return plimsoll.ReadOptions(last="30m" if _is_live() else None)


def _now_s() -> float | None:
    return time.time() if _is_live() else None


definitions = dagster.Definitions(jobs=[claims], sensors=[io_budget])
