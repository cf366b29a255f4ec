"""Refresh the materialized views whose tables have changed."""

import argparse
import sys
import time

from claims_pipeline.settings import Settings
from claims_pipeline.views.define import define
from claims_pipeline.views.refresh import Outcome, refresh, stale
from claims_pipeline.views.session import open_database


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--all", action="store_true", help="refresh every view, whether something changed or not")
    parser.add_argument("--dry-run", action="store_true", help="say what would be refreshed, and refresh nothing")


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """Refresh, and say of each view what was done and why."""
    begun_s = time.monotonic()
    with open_database(settings) as connection:
        if arguments.dry_run:
            for view, reason in stale(connection).items():
                sys.stdout.write(f"{view}: {reason}\n")
            return 0
        define(connection)
        outcomes = []
        for outcome in refresh(connection, is_forced=arguments.all):
            sys.stdout.write(line_of(outcome) + "\n")
            sys.stdout.flush()
            outcomes.append(outcome)
    refreshed = [outcome for outcome in outcomes if outcome.method != "skipped"]
    sys.stdout.write(f"{len(refreshed)} of {len(outcomes)} views refreshed in {time.monotonic() - begun_s:.1f} s\n")
    return 0


def line_of(outcome: Outcome) -> str:
    """Return what was done with a view, as one line."""
    if outcome.method == "skipped":
        return f"{outcome.view}: skipped, {outcome.reason}"
    return (
        f"{outcome.view}: refreshed {outcome.method} in {outcome.duration_s:.2f} s, "
        f"{outcome.size_bytes / 1e6:.2f} MB, because {outcome.reason}"
    )
