"""
Read offer files of the AWS Price List: AmazonRDS in JSON or CSV, plain or gzipped.

Rule 1: of JSON the bytes are kept, and only what is asked for is decoded; CSV is read row by row.
Rule 2: a file that is cut off, of another service or of another region is refused in one sentence.

Source: AWS Billing user guide, "Reading an offer file" (2026-11); six lines precede the rows of a CSV
file of 2026-04, the last of which names the columns.
"""

from pathlib import Path

import msgspec
from msgspec import Struct

from plimsoll.errors import DataError, SourceError
from plimsoll.model.price import PriceTable
from plimsoll.model.shell import shell_word
from plimsoll.sources.files.bytes import load
from plimsoll.sources.prices.offer_csv import About, looks_like_csv, read_csv_offer
from plimsoll.sources.prices.products import OFFER, Attributes, Gathered, Product, Rate
from plimsoll.sources.values.shown import shown

_WANTED = "Give index.json or index.csv of AmazonRDS, or what 'plimsoll prices refresh' wrote."
ADVICE = "'plimsoll prices refresh --region {region} -o prices.json' writes one."


class _OfferHead(Struct, rename="camel"):
    """An offer file, or an answer of GetProducts, with everything below left as bytes."""

    offer_code: str | None = None
    publication_date: str | None = None
    version: str | None = None
    products: dict[str, msgspec.Raw] | None = None
    terms: "_OfferTerms | None" = None
    price_list: list[str] | None = msgspec.field(name="PriceList", default=None)


class _OfferTerms(Struct):
    on_demand: dict[str, msgspec.Raw] = msgspec.field(name="OnDemand", default_factory=dict)


class _PriceDimension(Struct, rename="camel"):
    unit: str = ""
    price_per_unit: dict[str, str] = {}


class _Term(Struct, rename="camel"):
    price_dimensions: dict[str, _PriceDimension] = {}


class _Product(Struct, rename="camel"):
    product_family: str = ""
    attributes: Attributes = Attributes()


class _OfferProduct(Struct, rename="camel"):
    """One string of an answer of GetProducts."""

    product: _Product
    service_code: str = ""
    terms: _OfferTerms = msgspec.field(default_factory=_OfferTerms)
    version: str | None = None
    publication_date: str | None = None


_head = msgspec.json.Decoder(_OfferHead)
_product = msgspec.json.Decoder(_Product)
_terms = msgspec.json.Decoder(dict[str, _Term])
_listed = msgspec.json.Decoder(_OfferProduct)


def read_price_list(path: Path, region: str) -> PriceTable:
    """
    Return the prices of a region in an offer file, a `PriceBook`.

    Args:
        path: `index.json` or `index.csv` of AmazonRDS, what `plimsoll prices refresh` wrote, or an
            answer of `aws pricing get-products`; plain or gzipped.
        region: as AWS names it; a file of all regions has it among others.

    Raises:
        AccessDenied: the system refused us.
        SourceError: the file is missing, not a file, or cannot be read.
        DataError: it is cut off, no offer file, of another service or of another region.
    """
    # A pipe could be read once only, and the form of the file is told from its beginning.
    if path.exists() and not path.is_file():
        raise SourceError(f"'{path}' is not a regular file", _WANTED)
    if looks_like_csv(path):
        gathered = Gathered(region)
        return _table(gathered, read_csv_offer(path, gathered), path, region)
    return price_list_of(load(path), path, region)


def price_list_of(data: bytes, path: Path, region: str) -> PriceTable:
    """
    Return the prices of a region in a JSON text; `path` names it in messages.

    Raises:
        DataError: as `read_price_list`.
    """
    gathered = Gathered(region)
    return _table(gathered, _read_json(data, path, gathered), path, region)


def _table(gathered: Gathered, about: About, path: Path, region: str) -> PriceTable:
    offer, published, version = about.offer_code, about.published, about.version
    if offer != OFFER:
        described = f"the offer of '{shown(offer)}'" if offer else "an offer file without a service"
        raise DataError(
            f"'{path}' is {described}, and prices of RDS are in that of {OFFER}",
            ADVICE.format(region=shell_word(region)),
        )
    as_of = published[:10] if published else None
    table = gathered.table(
        name=f"'{path.name}'",
        source=f"AWS Price List of {OFFER}, version {shown(version or 'unknown', 20)}",
        as_of=as_of,
    )
    if not table.instances and not table.items:
        raise _nothing(path, region, gathered.regions)
    return table


def _nothing(path: Path, region: str, regions: set[str]) -> DataError:
    others = sorted(regions - {region})
    if region in regions or not others:
        return DataError(
            f"'{path}' contains no on-demand price of RDS in {region}", ADVICE.format(region=shell_word(region))
        )
    named = ", ".join(shown(name, 20) for name in others[:3])
    more = f" and {len(others) - 3} more" if len(others) > 3 else ""
    return DataError(
        f"'{path}' contains prices of {named}{more}, and none of {region}",
        f"Give --region, or an offer file of {region}. {ADVICE.format(region=shell_word(region))}",
    )


def _read_json(data: bytes, path: Path, gathered: Gathered) -> About:
    if not data.strip():
        raise DataError(f"'{path}' is empty", "Download or write the offer file again.")
    try:
        head = _head.decode(data)
        if head.price_list is not None:
            return _read_listed(head.price_list, gathered)
        if head.products is None or head.terms is None:
            raise not_an_offer(path)
        if head.offer_code == OFFER:
            _read_products(head.products, head.terms.on_demand, gathered)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        # msgspec says so where the text ends before its last bracket.
        if "truncated" in str(error):
            raise cut_off(path) from None
        raise not_an_offer(path) from None
    return About(head.offer_code, head.publication_date, head.version)


def _read_products(products: dict[str, msgspec.Raw], on_demand: dict[str, msgspec.Raw], gathered: Gathered) -> None:
    for sku, raw in products.items():
        product = _product.decode(raw)
        is_wanted = gathered.wants(product.product_family, product.attributes)
        rates = _rates(on_demand[sku]) if is_wanted and sku in on_demand else ()
        gathered.add(Product(product.product_family, product.attributes, rates))


def _read_listed(texts: list[str], gathered: Gathered) -> About:
    """Decode the strings of GetProducts, dated by the oldest publication among them."""
    found = [_listed.decode(text) for text in texts]
    for one in found:
        rates = tuple(rate for raw in one.terms.on_demand.values() for rate in _one_term(raw))
        gathered.add(Product(one.product.product_family, one.product.attributes, rates))
    services = {one.service_code for one in found}
    offer = services.pop() if len(services) == 1 else None
    dates = sorted(one.publication_date for one in found if one.publication_date)
    versions = sorted(one.version for one in found if one.version)
    return About(offer, dates[0] if dates else None, versions[0] if versions else None)


def _rates(raw: msgspec.Raw) -> tuple[Rate, ...]:
    return tuple(rate for term in _terms.decode(raw).values() for rate in _of_term(term))


def _one_term(raw: msgspec.Raw) -> tuple[Rate, ...]:
    return _of_term(msgspec.json.decode(raw, type=_Term))


def _of_term(term: _Term) -> tuple[Rate, ...]:
    return tuple(
        Rate(dimension.price_per_unit["USD"], dimension.unit)
        for dimension in term.price_dimensions.values()
        if "USD" in dimension.price_per_unit
    )


def cut_off(path: Path) -> DataError:
    """Return the error for a file that ends too early."""
    return DataError(f"'{path}' is cut off before the end of the offer", "Download or write the file again.")


def not_an_offer(path: Path) -> DataError:
    """Return the error for a file that is not an offer file."""
    return DataError(f"'{path}' is not an offer file of the AWS Price List", _WANTED)
