"""Choose the prices of a region: the catalog's, or those of an AWS offer file."""

from difflib import get_close_matches
from functools import cache
from pathlib import Path

from plimsoll.errors import UsageError
from plimsoll.model.price import PriceBook

# A judgement: more names than this are slower to read than a list of regions.
_CLOSE_MAX = 3


def book_of(region: str, prices: Path | None) -> PriceBook:
    """
    Return the prices of a region, from an offer file if one is given, else from the catalog.

    The catalog does not fill gaps of an offer file: prices of two dates would be mixed.

    Raises:
        UsageError: no file was given, and the catalog has no price for the region.
        SourceError, DataError: the file cannot be read, or is no offer file.
    """
    from plimsoll.catalog.load import catalog

    if prices is not None:
        from plimsoll.sources.prices.offer_file import read_price_list

        return read_price_list(prices, region)
    known = catalog().price_regions()
    if region not in known:
        close = get_close_matches(region, known, n=_CLOSE_MAX)
        meant = f" Similar names: {', '.join(close)}." if close else ""
        raise UsageError(
            f"the catalog has no price for region '{region}'",
            f"Check the name, or give an offer file with --prices.{meant}",
        )
    return _catalog_prices(region)


@cache
def _catalog_prices(region: str) -> PriceBook:
    """Return the one book of a region, so that what follows from it can be kept for it."""
    from plimsoll.catalog.load import catalog
    from plimsoll.catalog.prices import CatalogPrices

    return CatalogPrices(catalog(), region)
