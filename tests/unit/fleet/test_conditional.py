"""A manifest on S3, read and replaced within bounds."""

import socket
from collections.abc import Iterator

import pytest

from plimsoll.errors import SourceError
from plimsoll.fleet import conditional


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A store that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        settings = {
            "AWS_ENDPOINT_URL_S3": f"http://127.0.0.1:{server.getsockname()[1]}",
            "AWS_ACCESS_KEY_ID": "testing",
            "AWS_SECRET_ACCESS_KEY": "testing",
            "AWS_DEFAULT_REGION": "eu-central-1",
        }
        for name, value in settings.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(conditional, "_ANSWER_S", 0.05)
        yield


@pytest.mark.usefixtures("silent")
def test_a_store_that_never_answers_is_given_up():
    """After a few tries, and not after botocore's five of a minute each."""
    with pytest.raises(SourceError, match="s3://lake"):
        conditional.read_version("lake/manifest", "s3://lake")
    with pytest.raises(SourceError, match="s3://lake"):
        conditional.replace("lake/manifest", b"{}", None, "s3://lake")
