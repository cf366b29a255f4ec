"""GetProducts: pages put together into an offer file, and what can go wrong on the way."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from fixtures.offers import listed, market
from plimsoll.errors import AccessDenied, PlimsollError, SourceError, Throttled, UsageError
from plimsoll.sources.aws.price_list import endpoint_of, offer_of
from plimsoll.sources.prices.offer_file import price_list_of
from unit.sources.aws.cloud import Cloud, Reply, Script, account_of, error


def pages(texts: list[str], size: int) -> Script:
    """The strings in pages of that size, with tokens."""

    def script(asked: dict[str, Any]) -> dict[str, Any]:
        at = int(asked.get("NextToken") or 0)
        answer: dict[str, Any] = {"FormatVersion": "aws_v1", "PriceList": texts[at : at + size]}
        return answer | ({"NextToken": str(at + size)} if at + size < len(texts) else {})

    return script


def test_pages_become_one_offer_file():
    """Every product of every page is in it, on demand alone, and it is read as any offer file is."""
    cloud = Cloud(GetProducts=pages(listed(market("eu-west-1")), 5))

    offer = offer_of(account_of(cloud), "eu-west-1")

    table = price_list_of(offer, Path("prices.json"), "eu-west-1")
    price = table.instance_price("db.m6g.xlarge", "postgres")
    assert price is not None
    assert (Decimal("0.318"), "2026-07-28") == (price.usd, price.as_of)
    assert (4, 9) == (len(table.instances), len(table.items))
    assert b"Reserved" not in offer
    assert 3 == cloud.counts["GetProducts"]


def test_one_region_and_its_own_places_are_asked_for():
    """Outposts and Local Zones are left out by AWS; a page holds a hundred."""
    cloud = Cloud(GetProducts=pages(listed(market()), 100))

    offer_of(account_of(cloud), "us-east-1")

    ((_, asked),) = cloud.sent
    assert "AmazonRDS" == asked["ServiceCode"]
    assert 100 == asked["MaxResults"]
    filters = {f["Field"]: f["Value"] for f in asked["Filters"]}
    assert {"regionCode": "us-east-1", "locationType": "AWS Region"} == filters


def test_a_list_of_two_days_is_as_old_as_its_older_half():
    """A publication between two pages makes no price newer than it is."""
    texts = listed(market())
    texts[3] = texts[3].replace("2026-07-28", "2026-08-01")
    cloud = Cloud(GetProducts=pages(texts, 5))

    table = price_list_of(offer_of(account_of(cloud), "us-east-1"), Path("p"), "us-east-1")

    assert {"2026-07-28"} == {price.as_of for price in table.instances.values()}


@pytest.mark.parametrize(
    ("region", "endpoint"),
    [
        ("us-east-1", "us-east-1"),
        ("sa-east-1", "us-east-1"),
        ("eu-west-1", "eu-central-1"),
        ("me-south-1", "eu-central-1"),
        ("ap-southeast-2", "ap-south-1"),
    ],
)
def test_the_nearest_of_three_endpoints_is_asked(region, endpoint):
    """Each has the prices of every region."""
    assert endpoint == endpoint_of(region)


@pytest.mark.parametrize("region", ["cn-north-1", "us-gov-west-1"])
def test_other_partitions_have_a_list_of_their_own(region):
    """Credentials of one are not known in the other, so the command says what to do instead."""
    with pytest.raises(UsageError, match=region) as caught:
        endpoint_of(region)

    assert "--prices" in caught.value.hint


@pytest.mark.parametrize(
    ("script", "kind", "expected"),
    [
        (lambda _: error("ThrottlingException"), Throttled, "AWS throttled pricing:GetProducts"),
        (lambda _: error("AccessDeniedException", "no", 400), AccessDenied, "access denied to pricing:GetProducts"),
        (lambda _: Reply(b'{"PriceList": ["{'), SourceError, "cut off or garbled"),
        (lambda _: {"PriceList": ['{"product": {"sku": "A"']}, SourceError, "cut off or garbled"),
        (lambda _: {"PriceList": ['{"product": {}}']}, SourceError, "cut off or garbled"),
        (lambda _: {"PriceList": []}, UsageError, "AWS lists no RDS prices for 'eu-west-1'"),
        (lambda _: {"PriceList": listed(market()[:1]), "NextToken": "again"}, SourceError, "repeat and do not end"),
    ],
)
def test_what_goes_wrong_is_said_in_one_sentence(script, kind, expected):
    """Throttled, denied, cut off, nothing there, pages without end."""
    with pytest.raises(kind) as caught:
        offer_of(account_of(Cloud(GetProducts=script)), "eu-west-1")

    failure: PlimsollError = caught.value
    assert expected in failure.message
    assert failure.hint.endswith(".")
