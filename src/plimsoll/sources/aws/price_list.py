"""
Read the on-demand prices of a region with GetProducts, and write them as an offer file.

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

# Largest MaxResults of GetProducts (AWS Price List API Reference).
PRODUCTS_A_PAGE = 100

_ENDPOINTS = {"eu-": "eu-central-1", "me-": "eu-central-1", "ap-": "ap-south-1"}
_USUAL_ENDPOINT = "us-east-1"
# China, GovCloud and others are separate partitions: credentials of one are not valid in another.
_APART = ("cn-", "us-gov-", "us-iso", "eusc-")


class _ProductTerms(Struct):
    on_demand: msgspec.Raw = msgspec.field(name="OnDemand", default=msgspec.Raw(b"{}"))


class _Sku(Struct):
    sku: str


class _ListedProduct(Struct, rename="camel"):
    """One string of an answer: a product with its terms, of which only the on-demand ones are kept."""

    product: msgspec.Raw
    terms: _ProductTerms = msgspec.field(default_factory=_ProductTerms)
    version: str = ""
    publication_date: str = ""


_listed = msgspec.json.Decoder(_ListedProduct)
_sku = msgspec.json.Decoder(_Sku)


def endpoint_of(region: str) -> str:
    """
    Return the region of the nearest of the three endpoints that have the prices of `region`.

    Raises:
        UsageError: a region of China, GovCloud or another partition, which these endpoints lack.
    """
    if region.startswith(_APART):
        raise UsageError(
            f"the AWS Price List has no prices for {shown(region, 30)}",
            "Download the offer file of AmazonRDS for this region, and give it with --prices.",
        )
    return _ENDPOINTS.get(region[:3], _USUAL_ENDPOINT)


def offer_of(account: Account, region: str) -> bytes:
    """
    Return all RDS prices of a region in the form of an offer file: JSON.

    Args:
        account: in the region that `endpoint_of` names.

    Raises:
        UsageError: RDS has no prices in the region, or too many requests would be needed.
        SourceError: AWS refused, did not answer, or answered what cannot be read.
    """
    products: dict[str, msgspec.Raw] = {}
    terms: dict[str, msgspec.Raw] = {}
    dates: set[str] = set()
    versions: set[str] = set()
    for page in account.pages(
        GET_PRODUCTS,
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
            f"AWS lists no RDS prices for '{shown(region, 30)}'", "Check --region; regions are written as eu-west-1."
        )
    return msgspec.json.encode(
        {
            "formatVersion": "v1.0",
            "offerCode": OFFER,
            # A new list may be published between two pages, so give the date of the older one.
            "version": min(versions),
            "publicationDate": min(dates),
            "products": products,
            "terms": {"OnDemand": terms},
        }
    )
