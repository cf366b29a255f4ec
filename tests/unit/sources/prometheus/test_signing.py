"""Requests to Amazon Managed Prometheus carry a signature that its documented rules confirm."""

import hashlib
import hmac
import re
from urllib.parse import urlsplit

import pytest

from plimsoll.errors import AccessDenied
from plimsoll.sources.prometheus import client
from plimsoll.sources.prometheus.client import signed

KEY, SECRET = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
URL = "https://aps-workspaces.eu-west-1.amazonaws.com/workspaces/ws-1/api/v1/query"


@pytest.fixture
def credentials(monkeypatch: pytest.MonkeyPatch, tmp_path):
    """The documentation's example key in variables, and no file of this machine."""
    client._session.cache_clear()
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_DEFAULT_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    yield monkeypatch
    client._session.cache_clear()


def expected(method: str, url: str, body: bytes, headers: dict[str, str]) -> str:
    """The signature by AWS Signature Version 4 as it is written down, step by step."""
    found = re.search(r"SignedHeaders=([^,]+)", headers["Authorization"])
    assert found is not None
    names = found.group(1).split(";")
    parts = urlsplit(url)
    lower = {"host": parts.hostname} | {k.lower(): v for k, v in headers.items()}
    query = "&".join(sorted(parts.query.split("&"))) if parts.query else ""
    request = "\n".join(
        [method, parts.path, query]
        + [f"{n}:{' '.join(str(lower[n]).split())}" for n in names]
        + ["", ";".join(names), hashlib.sha256(body).hexdigest()]
    )
    moment = headers["X-Amz-Date"]
    scope = f"{moment[:8]}/eu-west-1/aps/aws4_request"
    text = "\n".join(["AWS4-HMAC-SHA256", moment, scope, hashlib.sha256(request.encode()).hexdigest()])
    key = f"AWS4{SECRET}".encode()
    for part in (moment[:8], "eu-west-1", "aps", "aws4_request"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


@pytest.mark.parametrize(
    ("method", "url", "body"),
    [
        ("GET", f"{URL}?query=%7Ba%3D%22b%22%7D%5B60s%5D&time=1615161599.999", b""),
        ("POST", URL, b"query=%7Ba%3D%22b%22%7D%5B60s%5D&time=1615161599.999"),
    ],
)
def test_a_request_is_signed_for_aps_in_its_region(credentials, method, url, body):
    """Method, path, query, body and the headers that are sent along are under the signature."""
    headers = signed(method, url, body, {"Accept": "application/json"}, "eu-west-1")

    assert f"Credential={KEY}/" in headers["Authorization"]
    assert "/eu-west-1/aps/aws4_request" in headers["Authorization"]
    assert headers["Authorization"].endswith(expected(method, url, body, headers))
    assert SECRET not in str(headers)


@pytest.mark.parametrize(
    ("profile", "cause", "hint"),
    [("", "no AWS credentials", "AWS_PROFILE"), ("absent", "unable to load AWS credentials", "")],
)
def test_without_credentials_nothing_is_sent_unsigned(credentials, profile, cause, hint):
    credentials.delenv("AWS_ACCESS_KEY_ID")
    credentials.delenv("AWS_SECRET_ACCESS_KEY")
    if profile:
        credentials.setenv("AWS_PROFILE", profile)
    with pytest.raises(AccessDenied, match=cause) as raised:
        signed("GET", URL, b"", {}, "eu-west-1")

    assert hint in raised.value.hint
