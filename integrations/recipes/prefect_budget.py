"""Prefect: a task that is tried again until the database has I/O budget, and a batch at its pace after it."""

import os
import time

from prefect import flow, task

import plimsoll

TARGET = os.environ.get("PLIMSOLL_TARGET", "rds:orders-primary")


@task(retries=60, retry_delay_seconds=float(os.environ.get("PLIMSOLL_INTERVAL_S", "60")))
def wait_for_budget(needed_bytes_per_s: float) -> float:
    """Return what a batch may load; fail, and so be tried again, if that is less or is not measured."""
    is_live = TARGET.startswith(("rds:", "prom:"))
    snapshot = plimsoll.read(TARGET, options=plimsoll.ReadOptions(last="30m" if is_live else None))
    found = plimsoll.allowance(snapshot, now_s=time.time() if is_live else None)
    if found.basis.value != "measured":
        raise RuntimeError("; ".join(found.notes))
    if found.unstepped_bytes_per_s < needed_bytes_per_s:
        raise RuntimeError(f"only {found.unstepped_bytes_per_s / 1e6:.1f} MB/s are left")
    return found.unstepped_bytes_per_s


@task
def load() -> int:
    """Hold a batch to the rate that the storage allows; replace the loop with your own."""
    with plimsoll.open_pace(TARGET) as pace:
        for chunk in (b"x" * 65_536,) * 4:
            pace.wait(len(chunk))
    return pace.sent_bytes


@flow
def claims(needed_bytes_per_s: float = 5e6) -> int:
    """Load one batch when there is budget."""
    wait_for_budget(needed_bytes_per_s)
    return load()
