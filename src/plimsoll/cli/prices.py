"""`plimsoll prices`: show on-demand prices, and read newer ones from AWS."""

import gzip
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec import Struct

from plimsoll.app.options import Option, ReadOptions
from plimsoll.cli.option_groups import expand
from plimsoll.cli.options import READ
from plimsoll.cli.output import OUTPUT_PANEL, check_ending, check_writable
from plimsoll.cli.progress import TERMINAL
from plimsoll.errors import UsageError
from plimsoll.model.instance import Deployment, engine_family
from plimsoll.model.price import STORAGE_ITEMS, WITHOUT_DEPLOYMENT, Price, PriceBook

if TYPE_CHECKING:  # the other commands need neither
    from plimsoll.catalog.load import Catalog

_LICENSES = ("none", "byol", "included")
# Columns of the table with an amount.
_AMOUNTS = (2, 3, 4)
_Prices = tuple[Price | None, ...]
"""Prices by deployment, in the order of `Deployment`."""


def register(app: typer.Typer) -> None:
    """Add the command group to the application."""
    group = typer.Typer(
        help="Show on-demand prices, or read newer ones from AWS.", no_args_is_help=True, rich_markup_mode=None
    )
    group.command("show")(expand(show))
    group.command("refresh")(expand(refresh))
    app.add_typer(group, name="prices")


class ShowOptions(Struct, frozen=True, kw_only=True):
    """The options of `prices show`."""

    region: Annotated[str, Option("--region REGION")] = "us-east-1"
    """AWS region."""
    db_class: Annotated[str | None, Option("--class CLASS")] = None
    """Instance class, for example db.r5.2xlarge (default: every class of the engine)."""
    engine: Annotated[str, Option("--engine ENGINE")] = "postgres"
    """Engine, for example mysql or oracle-se2."""
    prices: Annotated[Path | None, Option("--prices FILE")] = None
    """AWS price list, an offer file in JSON or CSV (default: the catalog's prices)."""


class RefreshOptions(Struct, frozen=True, kw_only=True):
    """The options of `prices refresh`."""

    region: Annotated[str, Option("--region REGION")]
    """Region whose prices to read, for example eu-central-1."""
    output: Annotated[Path, Option("-o --output FILE", OUTPUT_PANEL)]
    """Write the offer file here. A name with the ending .gz is compressed."""
    account: Annotated[ReadOptions, READ.only("profile", "max_api_calls")]


def show(options: ShowOptions) -> int:
    """
    Print on-demand prices with their dates and sources.

    Exit status: 0, or 2 if the price of the class is unknown, and for bad input.
    """
    from plimsoll.app.prices import book_of
    from plimsoll.catalog.load import catalog
    from plimsoll.catalog.names import class_name

    region, engine, prices, db_class = options.region, options.engine, options.prices, options.db_class
    if engine_family(engine) is None:
        raise UsageError(
            f"engine '{engine}' is not one that RDS has",
            "Use postgres, mysql, mariadb, oracle-ee, oracle-se2, sqlserver-se or aurora-…",
        )
    book = book_of(region, prices)
    name = None if db_class is None else class_name(db_class)
    names = _classes(catalog(), engine) if name is None else (name,)
    rows, unknown = _class_rows(book, names, engine)
    if name is not None and not rows and prices is None:
        catalog().instance_limits(name)  # raises for an unknown class, which is probably misspelt
    items, missing = _item_rows(book)
    lines = [f"on-demand prices in {region}, US dollars, from {book.name}"]
    lines += _table(rows + items)
    lines += [f"not known: {', '.join(missing)}"] if missing else []
    if name is not None and unknown:
        lines += [book.why_unknown(name, engine=engine)]
    elif unknown:
        lines += [f"not known for {engine}: {', '.join(unknown)}"]
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    return 2 if name is not None and unknown else 0


def refresh(options: RefreshOptions) -> None:
    """
    Read a region's on-demand prices from the AWS Price List into an offer file for --prices.

    The only permission it needs is pricing:GetProducts.
    """
    region, output = options.region, options.output
    check_ending(output, "-o writes an offer file in JSON", (".json", ".json.gz"))
    check_writable(output)
    from plimsoll.app.read import cost_of
    from plimsoll.reports.files.file import write_aside
    from plimsoll.sources.aws.account import open_account
    from plimsoll.sources.aws.price_list import endpoint_of, offer_of
    from plimsoll.sources.prices.offer_file import price_list_of

    account = open_account(
        profile=options.account.profile,
        region=endpoint_of(region),
        max_api_calls=options.account.max_api_calls,
        now_s=time.time,
    )
    try:
        offer = offer_of(account, region)
    finally:
        TERMINAL.spent(account.usage, cost_of(account.usage))
    # Parse the answer before writing: it must not replace a good file with one that cannot be read.
    table = price_list_of(offer, output, region)
    write_aside(output, gzip.compress(offer, mtime=0) if output.suffix.lower() == ".gz" else offer)
    found = f"{len(table.instances):,} prices of instances and {len(table.items):,} of storage"
    typer.echo(f"{found} in {region} written to {output}", err=True)


def _classes(catalog: "Catalog", engine: str) -> tuple[str, ...]:
    return tuple(name for name in catalog.classes() if engine in catalog.regions_of(name))


def _class_rows(book: PriceBook, names: tuple[str, ...], engine: str) -> tuple[list[tuple[str, ...]], list[str]]:
    """Return a row for each class and licence that has a price, and the classes that have none."""
    rows, unknown = [], []
    for name in names:
        found = [
            (name + ("" if license_model == "none" else f", {license_model}"), prices)
            for license_model in _LICENSES
            for prices in [_by_deployment(book, name, engine, license_model)]
            if any(prices)
        ]
        rows += [_row(*row) for row in found]
        if not found:
            unknown.append(name)
    return rows, unknown


def _by_deployment(book: PriceBook, name: str, engine: str, license_model: str) -> _Prices:
    return tuple(
        book.instance_price(name, engine, license_model=license_model, deployment=deployment)
        for deployment in Deployment
    )


def _item_rows(book: PriceBook) -> tuple[list[tuple[str, ...]], list[str]]:
    rows, unknown = [], []
    for item in STORAGE_ITEMS:
        prices: _Prices = tuple(
            None
            if item in WITHOUT_DEPLOYMENT and deployment is not Deployment.SINGLE_AZ
            else book.storage_price(item, deployment=deployment)
            for deployment in Deployment
        )
        if any(prices):
            rows.append(_row(item, prices))
        else:
            unknown.append(item)
    return rows, unknown


def _row(name: str, prices: _Prices) -> tuple[str, ...]:
    known = [price for price in prices if price is not None]
    dates = sorted({price.as_of or "undated" for price in known})
    weak = ""
    if any(price.is_weak for price in known):
        weak = ", weak" if prices[0] is not None and prices[0].is_weak else ", Multi-AZ weak"
    sources = dict.fromkeys(price.origin.source for price in known)
    single, *others = (_usd(price) for price in prices)
    if name in WITHOUT_DEPLOYMENT:
        others = ["-"] * len(others)
    return (name, known[0].unit, single, *others, " ".join(dates) + weak, "; ".join(sources))


def _usd(price: Price | None) -> str:
    return "unknown" if price is None else f"{price.usd.normalize():f}"


def _table(rows: list[tuple[str, ...]]) -> list[str]:
    """Format rows in columns as wide as their widest cell; sources are numbered and listed below."""
    sources = list(dict.fromkeys(row[-1] for row in rows))
    head = ("", "per", "Single-AZ", "Multi-AZ", "cluster", "in force", "source")
    cells = [head] + [(*row[:-1], f"[{sources.index(row[-1]) + 1}]") for row in rows]
    widths = [max(len(row[at]) for row in cells) for at in range(len(head))]
    lines = [
        "  ".join(
            cell.rjust(width) if at in _AMOUNTS else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    ]
    return lines + [f"[{number}] {source}" for number, source in enumerate(sources, 1)]
