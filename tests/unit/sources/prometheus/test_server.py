"""What a target and its options mean; what is secret is shown nowhere."""

import pytest

from plimsoll.errors import UsageError
from plimsoll.sources.prometheus.server import PrometheusServer, server_of


def parsed(url: str, *, match=(), headers=(), **environment: str) -> PrometheusServer:
    return server_of(url, match=match, headers=headers, environment=environment)


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("http://host:9090", "http://host:9090"),
        ("https://mimir.example/prometheus/", "https://mimir.example/prometheus"),
        ("http://host:9090/api/v1/query", "http://host:9090"),
        ("http://vm:8481/select/0/prometheus/api/v1", "http://vm:8481/select/0/prometheus"),
        ("http://[::1]:9090", "http://[::1]:9090"),
        (" http://host ", "http://host"),
    ],
)
def test_an_address_is_what_stands_before_the_interface(given, meant):
    """A trailing slash and a copied `/api/v1/…` are no part of it; a path prefix is."""
    assert meant == parsed(given).url


@pytest.mark.parametrize(
    ("url", "given", "cause"),
    [
        # An address may hold a password, so the message does not show it.
        ("host:9090", {}, "does not begin with http"),
        ("ftp://host", {}, "does not begin with http"),
        ("http://", {}, "names no host"),
        ("http:///path", {}, "names no host"),
        ("http://ho st", {}, "names no host"),
        ("http://host:port", {}, "not the address"),
        ("http://host:99999", {}, "not the address"),
        ("http://[::1", {}, "not the address"),
        ("http://host/?token=s3cret", {}, "has a query"),
        ("", {}, "does not begin with http"),
        # A line break in the value of a header would be a second one.
        *(
            ("http://h", {"headers": [text]}, "")
            for text in ("X-Scope-OrgID", ":v", "X: ", "X Y:v", "X:a\r\nEvil: s3cret", "X:s3cret\x00", "X:ü")
        ),
        *(
            ("http://h", {"match": [text]}, "is not LABEL=VALUE")
            for text in ("dbidentifier", "=a", "a b=c", "1a=b", "a=", "")
        ),
        ("http://h", {"PLIMSOLL_PROM_TOKEN": "s3cret", "PLIMSOLL_PROM_USER": "u"}, "are both set"),
    ],
)
def test_what_cannot_be_is_refused_without_repeating_it(url, given, cause):
    with pytest.raises(UsageError) as raised:
        parsed(url, **given)

    assert cause in raised.value.message
    assert "s3cret" not in raised.value.message + raised.value.hint


def test_a_match_is_a_label_and_a_value_with_anything_in_it():
    """Only the first `=` divides; the value may hold others, quotes and spaces."""
    server = parsed("http://h", match=["dbidentifier=a", 'team=x="y" z'])

    assert (("dbidentifier", "a"), ("team", 'x="y" z')) == server.match


@pytest.mark.parametrize(
    ("host", "region"),
    [
        ("aps-workspaces.eu-west-1.amazonaws.com", "eu-west-1"),
        ("aps-workspaces-fips.us-gov-west-1.amazonaws.com", "us-gov-west-1"),
        ("aps-workspaces.cn-north-1.amazonaws.com.cn", "cn-north-1"),
        ("aps-workspaces.eu-west-1.amazonaws.com.evil.example", None),
        ("prometheus.example", None),
    ],
)
def test_only_amazons_own_hosts_are_sent_a_signature(host, region):
    """AWS credentials sign nothing for anybody else; who gives a token to a proxy means the token."""
    url = f"https://{host}/workspaces/ws-1"

    assert region == parsed(url).region
    assert None is parsed(url, PLIMSOLL_PROM_TOKEN="t").region


def test_credentials_come_from_variables_or_from_the_address():
    """The address says it for this server; a header on the command line says it for this call."""
    both = {"PLIMSOLL_PROM_USER": "ann", "PLIMSOLL_PROM_PASSWORD": "pw1"}
    in_url = parsed("http://bob:p%40ss@h", PLIMSOLL_PROM_TOKEN="token1")
    in_header = parsed("http://h", headers=["authorization: Bearer x"], **both)

    assert "token1" == parsed("http://h", PLIMSOLL_PROM_TOKEN="token1").token
    assert ("ann", "pw1") == (parsed("http://h", **both).user, parsed("http://h", **both).password)
    assert ("http://h", "bob", "p@ss", None) == (in_url.url, in_url.user, in_url.password, in_url.token)
    assert (None, None, None) == (in_header.token, in_header.user, in_header.password)


def test_what_is_secret_is_in_no_text_of_the_server():
    """Neither its repr nor what a server repeats of a request shows token, password or header values."""
    server = parsed("https://ann:hunter2@h", headers=["X-Api-Key: k3y-value"], match=["team=orders"])
    token = parsed("http://h", PLIMSOLL_PROM_TOKEN="t0ken")
    text = f"{server!r} {server} {token!r} {server.url}"

    for secret in ("hunter2", "k3y-value", "ann", "t0ken"):
        assert secret not in text
    assert "no user *** with *** and ***" == server.hidden("no user ann with hunter2 and k3y-value")
    assert "team" in text
