"""The prices of a region: the catalog's, or those of an AWS offer file."""

from difflib import get_close_matches
from pathlib import Path

from plimsoll.errors import UsageError
from plimsoll.model.price import PriceBook

# As many names as one reads at a glance.
_CLOSE_MAX = 3


def book_of(region: str, prices: Path | None) -> PriceBook:
    """
    Return the prices of a region: of an offer file where one is given, otherwise the catalog's.

    The catalog fills nothing in that an offer file lacks: prices of two days would be mixed.

    Raises:
        UsageError: no file was given, and the catalog has no price of the region.
        SourceError, DataError: the file cannot be read, or is not what it should be.
    """
    from plimsoll.catalog.load import catalog
    from plimsoll.catalog.prices import CatalogPrices

    if prices is not None:
        from plimsoll.sources.prices.offer_file import read_price_list

        return read_price_list(prices, region)
    known = catalog().price_regions()
    if region not in known:
        close = get_close_matches(region, known, n=_CLOSE_MAX)
        meant = f" Names like it are {', '.join(close)}." if close else ""
        raise UsageError(
            f"no price of region '{region}' is in the catalog",
            f"Check the name, or give an offer file with --prices.{meant}",
        )
    return CatalogPrices(catalog(), region)
