"""Test the tables against the manifest of a delivery, or the age of views; exit status 1 if a test fails."""

import argparse
import sys

from claims_pipeline.checks.delivery import failures
from claims_pipeline.delivery import MANIFEST, check_names, raw_key
from claims_pipeline.errors import DataError, UsageError
from claims_pipeline.manifest import Manifest, parse
from claims_pipeline.settings import Settings
from claims_pipeline.storage import Storage
from claims_pipeline.views.refresh import stale
from claims_pipeline.views.session import open_database

FAILED = 1


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("organisation", metavar="ORGANISATION", nargs="?", help="for example A1001")
    parser.add_argument("month", metavar="MONTH", nargs="?", help="for example 2023-01")
    parser.add_argument("--views", action="store_true", help="test that every view is up to date with its tables")


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """Test, and write a sentence for each failure."""
    if arguments.organisation and not arguments.month:
        raise UsageError("a month is missing", "For example: claims-pipeline check A1001 2023-01.")
    if not arguments.organisation and not arguments.views:
        raise UsageError("there is nothing to check", "Name a delivery, or give --views.")
    found: list[str] = []
    manifest = None
    if arguments.organisation:
        check_names(arguments.organisation, arguments.month)
        manifest = _manifest(settings, arguments.organisation, arguments.month)
    with open_database(settings) as connection:
        if manifest:
            found += failures(connection, manifest)
        if arguments.views:
            old = stale(connection)
            found += [f"{view} is not up to date: {why}" for view, why in old.items()]
    for sentence in found:
        sys.stdout.write(sentence + "\n")
    tests = "1 test" if len(found) == 1 else f"{len(found)} tests"
    sys.stdout.write(f"{tests} failed\n" if found else "all tests passed\n")
    return FAILED if found else 0


def _manifest(settings: Settings, organisation: str, month: str) -> Manifest:
    content = Storage(settings).get(raw_key(organisation, month, MANIFEST))
    if content is None:
        raise DataError(
            f"the delivery {organisation}/{month} is not complete in S3", "Bring it there: claims-pipeline transfer."
        )
    return parse(content, f"{organisation}/{month}/{MANIFEST}")
