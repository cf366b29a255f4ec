"""Names under which the page is served, and forms that are refused."""

import asyncio

import pytest
from starlette.requests import Request

from plimsoll.web.guard import COOKIE, FormGuard, HostNames, RefusedFormError, policy_of

COOKIES = "c" * 32


def request(body: bytes = b"", *, cookie: str = COOKIES, headers: dict[str, str] | None = None) -> Request:
    """A form that was sent to localhost."""
    given = {"host": "localhost:9780", "cookie": f"{COOKIE}={cookie}", **(headers or {})}
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/",
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in given.items()],
    }

    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": body, "more_body": False}

    return Request(scope, receive)


def fields(guard: FormGuard, one: Request) -> dict[str, str]:
    """The fields of a form."""
    return asyncio.run(guard.fields(one))


def test_names_of_this_machine_are_served():
    """Numbers, localhost and the configured name; a name that another site points here is not."""
    names = HostNames("https://plimsoll.example/watch")

    for host in ("127.0.0.1:9780", "[::1]:9780", "localhost", "LOCALHOST.:80", "plimsoll.example"):
        assert names.has(host)
    for host in ("evil.example:9780", "localhost.evil.example", "", "127.0.0.1.evil.example"):
        assert not names.has(host)


def test_a_form_of_ours_is_taken():
    """With the token for its cookie."""
    guard = FormGuard(HostNames(""))
    token = guard.token_of(COOKIES)
    body = f"token={token}&note=caf%C3%A9+%3C".encode()
    headers = {"origin": "http://localhost:9780", "sec-fetch-site": "same-origin"}

    assert fields(guard, request(body, headers=headers)) == {"note": "café <"}


@pytest.mark.parametrize(
    ("body", "cookie", "headers"),
    [
        (b"note=x", COOKIES, {}),
        (b"token=wrong", COOKIES, {}),
        ("token=ä".encode(), COOKIES, {}),
        (b"TOKEN", "", {}),
        (b"TOKEN", "d" * 32, {}),
        (b"TOKEN", COOKIES, {"origin": "https://evil.example"}),
        (b"TOKEN", COOKIES, {"origin": "null", "sec-fetch-site": "cross-site"}),
        (b"TOKEN", COOKIES, {"sec-fetch-site": "same-site"}),
        (b"TOKEN&" + b"a=1&" * 20, COOKIES, {}),
        (b"TOKEN&note=" + b"x" * 9000, COOKIES, {}),
    ],
)
def test_any_other_form_is_refused(body: bytes, cookie: str, headers: dict[str, str]):
    """Without a token, with one of another browser, from another site, or too large."""
    guard = FormGuard(HostNames(""))
    sent = body.replace(b"TOKEN", f"token={guard.token_of(COOKIES)}".encode())

    with pytest.raises(RefusedFormError):
        fields(guard, request(sent, cookie=cookie, headers=headers))


def test_the_policy_allows_nothing_from_elsewhere():
    """Neither inline scripts nor frames nor other sites."""
    policy = policy_of("abc")

    assert policy.startswith("default-src 'none'; script-src 'self';")
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
