"""The address of the database: one that cannot be read is a sentence without any part of it."""

import pytest
from servers import done

from claims_pipeline.database.connection import connected
from claims_pipeline.errors import SettingsError
from claims_pipeline.settings import settings_of
from claims_pipeline.views.session import open_database

BAD = {
    "a colon is missing": "postgres//user:s3cret@host/db",
    "a percent sign is not encoded": "postgresql://user:s3cret%zz@host/db",
    "a bracket is missing": "postgresql://user:s3cret@[::1/db",
    "an @ is not encoded": "postgresql://user:p@s3cret@host/db",
    "a slash is not encoded": "postgresql://user:s3cret/s3cret@host/db",
    "a slash after what may be a port": "postgresql://localhost:5432/s3cret@host/db",
    "a blank is not quoted": "host=host user=user password=a s3cret",
    "a quote is open": "host=host password='s3cret",
    "bytes that are not UTF-8": "postgresql://user:s3cret\udcff@host/db",
}
bad = pytest.mark.parametrize("address", BAD.values(), ids=BAD)


@bad
@pytest.mark.parametrize("opened", [connected, open_database])
def test_an_address_that_cannot_be_read_is_not_repeated(address: str, opened):
    settings = settings_of({"CLAIMS_DATABASE_URL": address})
    with pytest.raises(SettingsError) as raised, opened(settings):
        pass

    assert "CLAIMS_DATABASE_URL is no address of a database" == raised.value.sentence
    assert "s3cret" not in raised.value.hint


@bad
def test_a_command_says_it_in_a_sentence_and_a_hint(address: str):
    said = done({"CLAIMS_DATABASE_URL": address}, "refresh", status=2).splitlines()

    assert "error: CLAIMS_DATABASE_URL is no address of a database" == said[0]
    assert said[1].startswith("hint: Write postgresql://")
    assert 2 == len(said)


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://user:p%40ss%2Fword@127.0.0.1:1/db",
        "postgresql://user@127.0.0.1:1/a%40b",
        "host=127.0.0.1 port=1 user=user password='a b'",
    ],
)
def test_an_address_that_can_be_read_is_used(address: str):
    """Nobody answers there."""
    said = done({"CLAIMS_DATABASE_URL": address}, "refresh", status=2)

    assert said.startswith("error: the database cannot be used: ")
    assert "port 1 failed" in said
