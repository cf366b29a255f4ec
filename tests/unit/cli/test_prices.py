"""`plimsoll prices show`: prices with their dates, and what is not known of them."""

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from fixtures.offers import hours, market, offer_csv, offer_json
from plimsoll.cli.commands import app


def show(*options: str) -> Result:
    """Run the command in this process."""
    return CliRunner().invoke(app, ["prices", "show", *options])


def row(result: Result, name: str) -> list[str]:
    """The cells of the one row of that name."""
    (line,) = [line for line in result.stdout.splitlines() if line.startswith(f"{name} ")]
    return line.split()[1:]


def test_every_class_of_an_engine_is_listed_by_licence():
    """With each licence a row, and those without a price below."""
    result = show("--engine", "oracle-se2", "--region", "eu-west-1")

    assert 0 == result.exit_code
    assert "db.m5.large, byol" in result.stdout
    assert "db.m5.large, included" in result.stdout
    assert "not known for oracle-se2: db." in result.stdout
    assert "cpu_surplus_credits" in result.stdout.rpartition("not known: ")[2]


@pytest.mark.parametrize("write", [offer_json, offer_csv])
def test_an_offer_file_is_all_there_is(write, tmp_path: Path):
    """The catalog fills nothing in: what the file lacks is unknown."""
    path = tmp_path / "offer"
    path.write_bytes(write(market()))

    result = show("--prices", str(path))

    assert 0 == result.exit_code, result.output
    assert result.stdout.startswith("on-demand prices in us-east-1, US dollars, from 'offer'")
    assert ["hour", "0.29", "unknown", "unknown", "2026-07-28", "[1]"] == row(
        result, "db.t3.xlarge"
    )
    assert "db.r5.large" in result.stdout.rpartition("not known for postgres: ")[2]


def test_a_disputed_price_is_status_2(tmp_path: Path):
    """Two products that differ in price alone: neither is shown, and the sentence names both."""
    path = tmp_path / "offer.json"
    path.write_bytes(offer_json([*market(), hours("db.t3.xlarge", "0.3", sku="OTHER")]))

    result = show("--prices", str(path), "--class", "db.t3.xlarge")

    assert 2 == result.exit_code
    assert "'offer.json' has 2 of it, $0.29 and $0.3" in result.stdout
