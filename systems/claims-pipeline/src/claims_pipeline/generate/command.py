"""
Write synthetic deliveries to a folder: OUT/ORGANISATION/CCYY-MM/ with the files, a README.txt and manifest.json.

Files of the month CCYY-MM have the services of the month before, and corrections of the month before that.
"""

import argparse
import sys
import time
from pathlib import Path

from claims_pipeline.errors import UsageError
from claims_pipeline.generate.bulk import block_of, blocks
from claims_pipeline.generate.calendar import month_number, month_text
from claims_pipeline.generate.delivery import ORGANISATIONS, Order, deliver, delivered_on
from claims_pipeline.generate.files import open_all
from claims_pipeline.layout import records
from claims_pipeline.manifest import DeliveredFile, Manifest, write
from claims_pipeline.settings import Settings


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("out", type=Path, metavar="OUT", help="folder to write to")
    parser.add_argument("--scale", type=int, choices=(1, 10), default=1, help="size (default: 1)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of all choices (default: 1)")
    parser.add_argument(
        "--months", type=int, default=2, metavar="N", help="deliveries of each organisation (default: 2)"
    )
    parser.add_argument("--first", default="2023-01", metavar="CCYY-MM", help="first delivery (default: 2023-01)")
    parser.add_argument(
        "--beneficiaries",
        type=int,
        default=2000,
        metavar="N",
        help="of each organisation, times the scale (default: 2000)",
    )
    parser.add_argument("--clean", action="store_true", help="without defects, repeated records and corrections")
    parser.add_argument(
        "--only", choices=list(records()), metavar="KIND", help="write one large file of this kind instead"
    )
    parser.add_argument("--gb", type=float, metavar="N", help="size of that file in units of 10^9 bytes; needs --only")


def run(arguments: argparse.Namespace, _settings: Settings) -> int:
    """Write, and say what was written."""
    for name, least, most in (("months", 1, 120), ("beneficiaries", 1, 500_000)):
        if not least <= getattr(arguments, name) <= most:
            raise UsageError(f"--{name} must be from {least} to {most}")
    if (arguments.only is None) != (arguments.gb is None):
        raise UsageError("--only and --gb belong together", "For example --only part_a_claims --gb 10.")
    if arguments.gb is not None and not 0 < arguments.gb <= 1000:
        raise UsageError("--gb must be above 0, and 1000 at most")
    first = month_number(arguments.first)
    began = time.monotonic()
    try:
        manifests = _large(arguments, first) if arguments.only else _all(arguments, first)
    except OSError as error:
        raise UsageError(f"unable to write to '{arguments.out}': {error.strerror}") from None
    files = [file for manifest in manifests for file in manifest.files]
    _say(files, time.monotonic() - began)
    return 0


def _all(arguments: argparse.Namespace, first: int) -> list[Manifest]:
    order = Order(
        folder=arguments.out,
        first_month=first,
        months=arguments.months,
        beneficiaries=arguments.beneficiaries,
        scale=arguments.scale,
        seed=arguments.seed,
        is_clean=arguments.clean,
    )
    return [
        deliver(order, organisation, month)
        for organisation in ORGANISATIONS
        for month in range(first, first + arguments.months)
    ]


def _large(arguments: argparse.Namespace, month: int) -> list[Manifest]:
    """Write one file to the first organisation's folder."""
    organisation = ORGANISATIONS[0]
    layout = records()[arguments.only]
    block = block_of(layout, arguments.seed, organisation, month - 1, is_clean=arguments.clean)
    folder = arguments.out / organisation / month_text(month)
    writing = open_all(folder, organisation, [layout], delivered_on(month))[layout.kind]
    for part in blocks(block, round(arguments.gb * 1e9), writing.counts):
        writing.write(part)
    manifest = Manifest(
        organisation=organisation,
        month=month_text(month),
        scale=arguments.scale,
        seed=arguments.seed,
        files=(writing.close(),),
    )
    write(folder, manifest)
    return [manifest]


def _say(files: list[DeliveredFile], duration_s: float) -> None:
    size_bytes = sum(file.bytes for file in files)
    sys.stdout.write(
        f"{len(files)} files, {sum(file.records for file in files):,} records, {size_bytes / 1e6:,.1f} MB, "
        f"{size_bytes / 1e6 / duration_s:,.0f} MB/s\n"
    )
