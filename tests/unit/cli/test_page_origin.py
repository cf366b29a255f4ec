"""What a page says of itself: version, time, and a command line without secrets."""

import pytest

from plimsoll import __version__
from plimsoll.cli.commands import given_arguments
from plimsoll.cli.page_origin import page_origin, without_secrets

SECRET = "s3cr:t/@&"
HIDING = [
    ["inspect", f"postgresql://app:{SECRET}@db1:5432/orders"],
    ["inspect", f"postgres://{SECRET}@db1/orders?sslmode=require"],
    ["inspect", "postgresql://db1/orders?user=app&password=hidden&sslmode=require"],
    ["inspect", "host=db1 user=app password=hidden dbname=orders"],
    ["inspect", "host=db1 password = 'hid den' dbname=orders"],
    ["inspect", "host=db1 sslpassword='it\\'s hidden' dbname=orders"],
    ["diagnose", "examples/quiet", f"--dsn=postgresql://app:{SECRET}@db1/orders"],
    ["inspect", "--pooler", f"pgbouncer://app:{SECRET}@host:6432"],
    ["diagnose", f"prom:http://user:{SECRET}@metrics:9090"],
    ["diagnose", "prom:http://metrics:9090", "--header", "Authorization: Bearer hidden"],
    ["diagnose", "prom:http://metrics:9090", "--header=X-Api-Key: hidden"],
    ["diagnose", "prom:http://metrics:9090/?api_key=hidden"],
    ["inspect", f"postgresql:app:{SECRET}@db1"],
]


@pytest.mark.attack(
    "A page is made by a command with a password, a token or a private header",
    "the command on the page has `***` in its place",
)
@pytest.mark.parametrize("arguments", HIDING, ids=" ".join)
def test_a_command_on_a_page_has_no_secret(arguments: list[str]):
    shown = " ".join(without_secrets(arguments))

    assert "***" in shown
    assert not [part for part in ("s3cr", "t/", "hidden", "hid den", "den'") if part in shown]


def test_what_is_no_secret_stays():
    arguments = ["diagnose", "prom:http://metrics:9090", "--header", "X-Scope-OrgID: shop"]
    arguments += ["--dsn", "host=db1 passfile=orders.pgpass dbname=orders", "--last", "14d"]

    assert arguments == without_secrets(arguments)
    assert ["inspect", "postgresql://***@db1/orders"] == without_secrets(["inspect", "postgresql://app@db1/orders"])


def test_the_origin_is_that_of_the_command_line(monkeypatch: pytest.MonkeyPatch):
    """The command is quoted for a shell, and SOURCE_DATE_EPOCH is the time."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1795694400")
    token = given_arguments.set(("diagnose", "rds:*", "--html", "of all.html"))
    try:
        found = page_origin()
    finally:
        given_arguments.reset(token)

    assert "plimsoll diagnose 'rds:*' --html 'of all.html'" == found.command
    assert (__version__, "2026-11-26 12:00 UTC") == (found.version, found.moment)
