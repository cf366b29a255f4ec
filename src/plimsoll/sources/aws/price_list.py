"""
GetProducts: the on-demand prices of a region, as an offer file of them.

Source: AWS Price List Query API Reference, GetProducts (2026-11): at most 100 products on a page, each
a string of JSON; endpoints in us-east-1, eu-central-1 and ap-south-1, each with every region's prices.
"""

import msgspec
from msgspec import Struct

from plimsoll.errors import UsageError
from plimsoll.sources.aws.account import Account
from plimsoll.sources.aws.failures import garbled
from plimsoll.sources.aws.operations import GET_PRODUCTS
from plimsoll.sources.prices.products import OFFER
from plimsoll.sources.values.shown import shown

# The most that GetProducts takes for MaxResults (AWS Price List API reference).
PRODUCTS_A_PAGE = 100

_ENDPOINTS = {"eu-": "eu-central-1", "me-": "eu-central-1", "ap-": "ap-south-1"}
_USUAL_ENDPOINT = "us-east-1"
# China and GovCloud are apart: credentials of one partition are not known in another.
_APART = ("cn-", "us-gov-", "us-iso", "eusc-")


class _ProductTerms(Struct):
    on_demand: msgspec.Raw = msgspec.field(name="OnDemand", default=msgspec.Raw(b"{}"))


class _Sku(Struct):
    sku: str


class _ListedProduct(Struct, rename="camel"):
    """One string of an answer: a product with all its terms, of which only on-demand ones stay."""

    product: msgspec.Raw
    terms: _ProductTerms = msgspec.field(default_factory=_ProductTerms)
    version: str = ""
    publication_date: str = ""


_listed = msgspec.json.Decoder(_ListedProduct)
_sku = msgspec.json.Decoder(_Sku)


def endpoint_of(region: str) -> str:
    """
    Return the region whose endpoint is asked for the prices of `region`: the nearest of the three.

    Raises:
        UsageError: a region of China, GovCloud or another partition, whose prices are not listed there.
    """
    if region.startswith(_APART):
        raise UsageError(
            f"the prices of {shown(region, 30)} are not in the Price List of the other regions",
            "Download the offer file of AmazonRDS for it, and give it with --prices.",
        )
    return _ENDPOINTS.get(region[:3], _USUAL_ENDPOINT)


def offer_of(account: Account, region: str) -> bytes:
    """
    Return everything that RDS sells in a region, in the form of an offer file: JSON.

    Args:
        account: in the region that `endpoint_of` names.

    Raises:
        UsageError: nothing is sold there, or the requests would be too many.
        SourceError: AWS refused, did not answer, or answered what cannot be read.
    """
    products: dict[str, msgspec.Raw] = {}
    terms: dict[str, msgspec.Raw] = {}
    dates: set[str] = set()
    versions: set[str] = set()
    for page in account.pages(
        GET_PRODUCTS,
        "NextToken",
        "NextToken",
        ServiceCode=OFFER,
        FormatVersion="aws_v1",
        MaxResults=PRODUCTS_A_PAGE,
        Filters=[
            {"Type": "TERM_MATCH", "Field": "regionCode", "Value": region},
            {"Type": "TERM_MATCH", "Field": "locationType", "Value": "AWS Region"},
        ],
    ):
        for text in page[GET_PRODUCTS.answer_key]:
            try:
                one = _listed.decode(text)
                sku = _sku.decode(one.product).sku
            except (msgspec.DecodeError, TypeError):
                raise garbled(GET_PRODUCTS) from None
            products[sku], terms[sku] = one.product, one.terms.on_demand
            dates.add(one.publication_date)
            versions.add(one.version)
    if not products:
        raise UsageError(
            f"AWS lists nothing that RDS sells in '{shown(region, 30)}'",
            "Check --region; regions are written as eu-west-1.",
        )
    return msgspec.json.encode(
        {
            "formatVersion": "v1.0",
            "offerCode": OFFER,
            # A new list may be published between two pages; prices are as old as the older one.
            "version": min(versions),
            "publicationDate": min(dates),
            "products": products,
            "terms": {"OnDemand": terms},
        }
    )
