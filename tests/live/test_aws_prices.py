"""
`plimsoll prices refresh` over HTTP: the file it writes is read again, and no failure leaves a half.

The Price List is a double that holds every request and answer against botocore's model; a proxy fails
on order.
"""

import gzip
from collections.abc import Iterator

import pytest
from msgspec import Struct

from fixtures.aws import proxy
from fixtures.aws.commands import Outcome, plimsoll, requests_said
from fixtures.aws.double import Double
from fixtures.aws.price_list import CLASSES
from fixtures.aws.proxy import Fault, Rule
from plimsoll.sources.prices.offer_file import price_list_of

PRODUCTS = "pricing:GetProducts"
REGION = "eu-west-1"
# 13 products of the market and 220 classes, a hundred a page.
PAGES = 3


@pytest.fixture(scope="module")
def double() -> Iterator[Double]:
    """A server that stands for AWS."""
    with Double() as started:
        yield started


def refresh(double: Double, *more: str, rules: tuple[Rule, ...] = ()) -> Outcome:
    """Refresh the prices of a region into a file."""
    command = ("prices", "refresh", "--region", REGION, "-o", "prices.json", *more)
    return plimsoll(double.port, *command, rules=rules)


def fails(fault: Fault, *, skip: int = 0, times: int | None = None) -> tuple[Rule, ...]:
    return (Rule(action=PRODUCTS, fault=fault, skip=skip, times=times),)


def test_the_file_holds_every_price_of_the_region(double: Double, tmp_path):
    """All pages were asked for and counted, and another command reads what was written."""
    outcome = refresh(double)

    assert 0 == outcome.status, outcome.shown()
    assert {PRODUCTS: PAGES} == outcome.counts == requests_said(outcome.stderr)
    path = tmp_path / "prices.json"
    path.write_bytes(outcome.files["prices.json"])
    table = price_list_of(path.read_bytes(), path, REGION)
    assert len(CLASSES) + 4 == len(table.instances)
    shown = plimsoll(double.port, "prices", "show", "--region", REGION, "--prices", str(path))
    assert 0 == shown.status, shown.shown()
    assert "db.m6g.xlarge" in shown.stdout
    assert {} == shown.counts


def test_a_name_that_says_so_is_gzipped(double: Double):
    """The same prices in a smaller file."""
    command = ("prices", "refresh", "--region", "us-east-1", "-o", "prices.json.gz")
    outcome = plimsoll(double.port, *command)

    assert 0 == outcome.status, outcome.shown()
    assert b'"offerCode"' in gzip.decompress(outcome.files["prices.json.gz"])


@pytest.mark.parametrize(
    "rules",
    [fails(proxy.throttled, times=2), fails(proxy.truncated, skip=1, times=1), fails(proxy.broken, skip=2, times=1)],
)
def test_what_passes_changes_nothing(rules: tuple[Rule, ...], double: Double):
    """Throttled twice, a page that broke off, an error of AWS: the file is the same, retries count."""
    undisturbed, outcome = refresh(double), refresh(double, rules=rules)

    assert 0 == outcome.status, outcome.shown()
    assert undisturbed.files == outcome.files
    assert outcome.counts == requests_said(outcome.stderr)
    assert PAGES < outcome.counts[PRODUCTS]


class Case(Struct, frozen=True, kw_only=True):
    """How the proxy fails, and what is said."""

    rules: tuple[Rule, ...]
    says: str
    remedy: str
    more: tuple[str, ...] = ()


FAILING = {
    "throttled": Case(rules=fails(proxy.throttled), says=f"AWS throttled {PRODUCTS}", remedy="later"),
    "denied": Case(rules=fails(proxy.denied), says=f"access denied to {PRODUCTS}", remedy=f"Allow {PRODUCTS}"),
    "a later page denied": Case(rules=fails(proxy.denied, skip=2), says=f"access denied to {PRODUCTS}", remedy="Allow"),
    "truncated": Case(rules=fails(proxy.truncated), says=f"the answer to {PRODUCTS} was cut off", remedy="again"),
    "a later page cut short": Case(
        rules=fails(proxy.cut_short, skip=1), says=f"the answer to {PRODUCTS} was cut off", remedy="again"
    ),
    "garbage": Case(rules=fails(proxy.garbage), says=f"the answer to {PRODUCTS} was cut off", remedy="proxy"),
    "pages without end": Case(
        rules=fails(proxy.endless),
        says="stopped after 5 requests",
        remedy="--max-api-calls",
        more=("--max-api-calls", "5"),
    ),
    "too few calls": Case(
        rules=(), says="stopped after 2 requests", remedy="--max-api-calls", more=("--max-api-calls", "2")
    ),
}


@pytest.mark.parametrize("name", FAILING)
def test_what_fails_is_one_sentence_and_no_file(name: str, double: Double):
    """Exit status 2, one cause and one remedy, and nothing is written, not even aside."""
    case = FAILING[name]

    outcome = refresh(double, *case.more, rules=case.rules)

    assert (2, "", {}) == (outcome.status, outcome.stdout, outcome.files), outcome.shown()
    assert (1, 1) == (len(outcome.errors), len(outcome.hints)), outcome.shown()
    assert case.says in outcome.errors[0]
    assert case.remedy in outcome.hints[0]
    assert "Traceback" not in outcome.stderr


def test_a_region_that_sells_nothing_is_said_so(double: Double):
    """AWS answers an empty list for a name that is none."""
    outcome = plimsoll(double.port, "prices", "refresh", "--region", "eu-wset-1", "-o", "prices.json")

    assert (2, {}) == (outcome.status, outcome.files), outcome.shown()
    assert "AWS lists no RDS prices for 'eu-wset-1'" in outcome.errors[0]
