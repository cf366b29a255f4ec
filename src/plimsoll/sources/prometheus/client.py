"""
Send requests to a Prometheus-compatible server, bounded in time and size, with retries.

Rule 1: nothing changes on the server: only `series`, `label values` and `query` are called.
Rule 2: an answer has a deadline and a largest size; a larger one is requested in halves.
Rule 3: all answers of one reading together, broken ones included, have a largest size too.
Rule 4: 429, 502, 503, 504 and broken connections are tried three times; other failures once.
"""

import os
import re
import ssl
import time
from collections.abc import Callable, Sequence
from functools import lru_cache
from ipaddress import ip_address
from typing import Any, Self
from urllib.parse import quote, urlencode, urlsplit

import msgspec
from msgspec import Struct

from plimsoll.errors import AccessDenied, PlimsollError, SourceError, Throttled, Unreachable, UsageError
from plimsoll.sources.prometheus.server import PASSWORD, TOKEN, USER, PrometheusServer
from plimsoll.sources.values.shown import shown

Parameters = Sequence[tuple[str, str]]

_AGAIN = frozenset({429, 502, 503, 504})
_FORM = "application/x-www-form-urlencoded"

# Proxies and servers accept request lines of 4 to 8 KB, so longer requests use POST. nginx: 8 KB
# (large_client_header_buffers).
LONGEST_LINE = 1_800

# A judgement: obey Retry-After up to this wait; during an incident nobody waits longer.
LONGEST_WAIT_S = 10.0

# Answers of Go and nginx to a plain HTTP request on a TLS port.
_WANTS_TLS = re.compile(rb"HTTP request (to an|was sent to) HTTPS (server|port)", re.IGNORECASE)
_TOO_MUCH = ("too many samples", "too many points", "too many chunks", "exceed", "too many series")

_IS_PROMETHEUS = "Check that the address is of a Prometheus-compatible server."
_SHORTER = "Give a shorter window with --last, or try again when the server is less busy."
_BEFORE_IT = "Check the server and any proxy in front of it, and try again."

UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""Errors for no JSON, cut JSON, JSON of another shape, or JSON nested too deeply."""


class TooMuch(Exception):
    """The answer to one request would exceed the bound of the server or ours."""


class Exhausted(SourceError):
    """One reading would exceed its bound."""


class Answer(Struct, rename="camel"):
    """Envelope of every answer of the HTTP API."""

    status: str
    data: msgspec.Raw = msgspec.Raw(b"null")
    error_type: str = ""
    error: str = ""
    warnings: list[str] | None = None
    is_partial: bool = False
    """VictoriaMetrics: a storage node did not answer."""


_ANSWER = msgspec.json.Decoder(Answer)


class Bounds(Struct, frozen=True, kw_only=True):
    """Bounds of time and size."""

    connect_s: float = 5.0
    read_s: float = 30.0
    """Longest wait for the next bytes of an answer."""
    answer_s: float = 120.0
    """Longest time of one whole answer: a slow server must not block a reading."""
    answer_bytes_max: int = 64 * 1024**2
    """200,000 samples take 6 MB; we never request ten times as many."""
    read_bytes_max: int = 4 * 1024**3
    """Bound of all answers of one reading, unpacked: `read_samples_max` take 3 GB, labels more."""
    read_samples_max: int = 100_000_000
    """
    Bound of all answers of one reading. 25 metrics scraped every 15 s are 86 million samples for 600
    instances over a day, or 81 million for 40 instances over two weeks. More would keep a server busy for
    minutes during an incident.
    """
    tries: int = 3
    first_wait_s: float = 0.5
    """Wait before the second attempt; doubled before the third."""


class Allowance:
    """Counts the bytes and samples of one reading, over all its connections, up to their bounds."""

    def __init__(self, bounds: Bounds) -> None:
        """Start with nothing used."""
        self._most = {"bytes": bounds.read_bytes_max, "samples": bounds.read_samples_max}
        self.taken = {"bytes": 0, "samples": 0}

    def take(self, unit: str, count: int, server: PrometheusServer) -> None:
        """
        Add a part of an answer, in `bytes` or `samples`.

        Raises:
            Exhausted: the bound is exceeded.
        """
        self.taken[unit] += count
        if self.taken[unit] > self._most[unit]:
            raise Exhausted(
                f"one command reads at most {self._most[unit]:,} {unit} from {server.url}",
                "Choose fewer instances with --identifier or --match, or a shorter window with --last.",
            )


class Client:
    """A connection to one server, to be closed after use."""

    def __init__(
        self,
        server: PrometheusServer,
        bounds: Bounds | None = None,
        *,
        allowance: Allowance | None = None,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """
        Prepare a connection; send no request yet.

        Args:
            server: where to send requests.
            bounds: bounds of time and size.
            allowance: bounds of the whole reading (default: from `bounds`).
            sleep: waits between attempts.
            clock: monotonic seconds.
        """
        import httpx

        self.server = server
        self.bounds = bounds or Bounds()
        self.allowance = allowance or Allowance(self.bounds)
        self.warnings: dict[str, None] = {}
        self._sleep, self._clock = sleep, clock
        is_near = _is_loopback(urlsplit(server.url).hostname or "")
        self._http = httpx.Client(
            timeout=httpx.Timeout(self.bounds.read_s, connect=self.bounds.connect_s),
            follow_redirects=False,
            # A proxy for external hosts cannot reach this machine's loopback. The environment's certificate
            # authorities still apply: a forwarded port keeps its server's certificate.
            trust_env=not is_near,
            verify=_authorities(server.url) if is_near else True,
            auth=None if server.user is None else httpx.BasicAuth(server.user, server.password or ""),
        )

    def __enter__(self) -> Self:
        """Return the client itself."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Close its connections."""
        self._http.close()

    def ask(self, path: str, parameters: Parameters, *, may_post: bool = True) -> Answer:
        """
        Send one request, and return the answer.

        Args:
            path: path below the server's address, for example `/api/v1/query`.
            parameters: names and values, not yet encoded.
            may_post: whether the API also accepts this request by POST.

        Raises:
            TooMuch: the answer exceeds the bound of the server or ours.
            SourceError: no usable answer; subclasses are AccessDenied, Unreachable and Throttled.
        """
        url, body = self.server.url + path, b""
        line = urlencode(parameters, quote_via=quote)
        if may_post and len(line) > LONGEST_LINE:
            body = line.encode()
        else:
            url = f"{url}?{line}"
        wait_s = self.bounds.first_wait_s
        for attempt in range(1, self.bounds.tries + 1):
            outcome, asked_wait_s = self._try(url, body)
            if isinstance(outcome, Answer):
                self._note(outcome)
                return outcome
            is_last = attempt == self.bounds.tries
            if asked_wait_s is None or is_last:
                raise outcome
            self._sleep(max(wait_s, min(asked_wait_s, LONGEST_WAIT_S)))
            wait_s *= 2
        raise AssertionError("the last try ends the loop")

    def _note(self, answer: Answer) -> None:
        for warning in answer.warnings or ():
            self.warnings[_error_text(Answer(status="", error=warning), self.server)] = None
        if answer.is_partial:
            self.warnings["a storage node did not answer"] = None

    def _try(self, url: str, body: bytes) -> tuple[Answer | PlimsollError | TooMuch, float | None]:
        """Return the answer, or the error and the seconds to wait before a retry; None for no retry."""
        import httpx

        server = self.server
        method = "POST" if body else "GET"
        headers = self._headers(method, url, body)
        try:
            with self._http.stream(method, url, content=body or None, headers=headers) as response:
                content = self._content(response)
                if response.status_code == 200:
                    kind = response.headers.get("content-type", "")
                    return answer_of(content, server, kind), None
                wait_s = _seconds(response.headers.get("retry-after", ""))
                error = refusal(response.status_code, content, server)
                again = response.status_code in _AGAIN and not isinstance(error, TooMuch)
                return error, wait_s if again else None
        except TooMuch as much:
            return much, None
        except (httpx.ReadError, httpx.WriteError, httpx.RemoteProtocolError):
            return Unreachable(f"{server.url} closed the connection during its answer", _BEFORE_IT), 0.0
        except httpx.HTTPError as error:
            return _unreachable(server, error, self.bounds), None
        except SourceError as error:
            return error, None

    def _headers(self, method: str, url: str, body: bytes) -> dict[str, str]:
        headers = {"Accept": "application/json", **dict(self.server.headers)}
        if body:
            headers["Content-Type"] = _FORM
        if self.server.token is not None:
            headers["Authorization"] = f"Bearer {self.server.token}"
        if self.server.region is not None:
            return signed(method, url, body, headers, self.server.region)
        return headers

    def _content(self, response: Any) -> bytes:
        deadline = self._clock() + self.bounds.answer_s
        parts: list[bytes] = []
        size = 0
        for part in response.iter_bytes():
            size += len(part)
            self.allowance.take("bytes", len(part), self.server)
            if size > self.bounds.answer_bytes_max:
                raise TooMuch(f"the answer is larger than {self.bounds.answer_bytes_max:,} bytes")
            if self._clock() > deadline:
                raise Unreachable(f"{self.server.url} did not finish an answer in {self.bounds.answer_s:g} s", _SHORTER)
            parts.append(part)
        return b"".join(parts)


# --- answers --------------------------------------------------------------------------------------


def answer_of(body: bytes, server: PrometheusServer, kind: str) -> Answer:
    """
    Decode the envelope of a successful call.

    Args:
        body: as received.
        kind: content type of the answer, for the message.

    Raises:
        SourceError: not an answer of this API, or an answer that reports an error.
    """
    try:
        answer = _ANSWER.decode(body)
    except UNREADABLE as error:
        if "html" in kind or body.lstrip()[:1] == b"<":
            raise SourceError(
                f"{server.url} answered with a web page, not with metrics; it may be a login page",
                f"Give the address of the server behind it, or a {TOKEN} that it accepts.",
            ) from error
        raise SourceError(f"{server.url} sent an answer that is cut off or not JSON", _IS_PROMETHEUS) from error
    if answer.status != "success":
        raise SourceError(
            f"{server.url} reports an error: {_error_text(answer, server)}",
            "Check the state of the server and its log.",
        )
    return answer


def unlike(server: PrometheusServer) -> SourceError:
    """Return the error for an answer whose data have not the form that was requested."""
    return SourceError(f"{server.url} answered in another form than Prometheus", _IS_PROMETHEUS)


def _error_text(answer: Answer, server: PrometheusServer) -> str:
    """Return the server's error message, printable and without secrets."""
    return shown(server.hidden(answer.error) or answer.error_type or "no reason given", 200)


def reason_of(body: bytes, server: PrometheusServer) -> str:
    """Return the reason in an error answer; empty if it has none that can be shown."""
    try:
        return _error_text(_ANSWER.decode(body), server)
    except UNREADABLE:
        text = body[:400].decode("utf-8", errors="replace").strip()
        return "" if text[:1] in ("<", "") else shown(server.hidden(text.splitlines()[0]), 200)


_UNAVAILABLE = (Unreachable, "is not available ({status}){because}", _BEFORE_IT)
_UNACCEPTED = (
    SourceError,
    "does not accept the query ({status}){because}",
    "Check --match; servers other than Prometheus may lack a part of its query language.",
)
_FORBIDDEN = (
    AccessDenied,
    "refused the request ({status}){because}",
    f"Set {TOKEN}, or {USER} and {PASSWORD}. Mimir needs --header X-Scope-OrgID:…",
)
_REFUSALS: dict[int, tuple[type[PlimsollError], str, str]] = {
    400: _UNACCEPTED,
    401: _FORBIDDEN,
    403: _FORBIDDEN,
    404: (
        SourceError,
        "has no Prometheus API at this path (404)",
        (
            "Add the path before /api/v1: for Mimir http://host/prometheus, for VictoriaMetrics clusters "
            "http://host:8481/select/0/prometheus, for Amazon …/workspaces/ws-…"
        ),
    ),
    422: _UNACCEPTED,
    429: (Throttled, "throttles requests (429){because}", "Try again later, or give a shorter window with --last."),
    502: _UNAVAILABLE,
    503: _UNAVAILABLE,
    504: _UNAVAILABLE,
}
"""Errors by HTTP status: what the server does, and the remedy."""
_REDIRECTS = (
    SourceError,
    "redirects elsewhere ({status}); it may be a login page",
    f"Give the final address, or a {TOKEN} that it accepts.",
)
_FAILS = (SourceError, "failed ({status}){because}", "Check the server's log.")


def refusal(status: int, body: bytes, server: PrometheusServer) -> PlimsollError | TooMuch:
    """Return the error for an answer with an error status."""
    url, reason = server.url, reason_of(body, server)
    if status in (400, 413, 422, 503) and any(w in reason.lower() for w in _TOO_MUCH):
        return TooMuch(reason)
    if status == 400 and url.startswith("http:") and _WANTS_TLS.search(body[:4000]):
        return SourceError(
            f"{url} uses https, but the request was sent by http", f"Write https: prom:https{url.removeprefix('http')}."
        )
    kind, does, hint = _REFUSALS.get(status, _REDIRECTS if 300 <= status < 400 else _FAILS)
    if kind is AccessDenied and server.region is not None:
        hint = "Allow aps:QueryMetrics, aps:GetSeries and aps:GetLabels for this AWS role."
    return kind(f"{url} {does.format(status=status, because=f': {reason}' if reason else '')}", hint)


def _unreachable(server: PrometheusServer, error: Exception, bounds: Bounds) -> Unreachable:
    import httpx

    url = server.url
    if isinstance(error, httpx.ConnectTimeout):
        return Unreachable(
            f"{url} did not accept a connection in {bounds.connect_s:g} s", "Check host, port, firewalls and VPN."
        )
    if isinstance(error, httpx.TimeoutException):
        return Unreachable(f"{url} did not answer in {bounds.read_s:g} s", _SHORTER)
    text = str(error)
    if _is_tls(error) or "SSL" in text or "certificate" in text.lower():
        return Unreachable(
            f"no TLS connection to {url}: {_shorter(text)}",
            "Check http or https, and set SSL_CERT_FILE to the certificates of your authority.",
        )
    return Unreachable(
        f"unable to reach {url}: {_shorter(server.hidden(text))}",
        "Check host and port, and that the server listens there.",
    )


def _shorter(text: str) -> str:
    """Return the reason in a network error without its numbers: `connection refused`."""
    reason = text.rpartition("]")[2].strip() or text.strip("[] ") or "no reason given"
    return reason[:120].rstrip(".").strip().lower()


def _is_tls(error: BaseException) -> bool:
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLError):
            return True
        cause = cause.__cause__ or cause.__context__
    return False


def _seconds(text: str) -> float:
    """Return the seconds of a Retry-After header; 0 for a date."""
    return float(text) if text.isascii() and text.isdigit() and len(text) < 6 else 0.0


def _authorities(url: str) -> "ssl.SSLContext | bool":
    """Return the certificates to trust on loopback: those of SSL_CERT_FILE and SSL_CERT_DIR."""
    file, folder = os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")
    if not url.startswith("https:") or not (file or folder):
        return True
    try:
        return ssl.create_default_context(cafile=file or None, capath=folder or None)
    except (OSError, ssl.SSLError) as error:
        raise UsageError(
            f"the certificates of {'SSL_CERT_FILE' if file else 'SSL_CERT_DIR'} cannot be read: "
            f"{_shorter(error.strerror or str(error))}",
            "Give a file of certificates in PEM.",
        ) from None


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


# --- signatures -----------------------------------------------------------------------------------


def signed(method: str, url: str, body: bytes, headers: dict[str, str], region: str) -> dict[str, str]:
    """
    Return the headers of a request to Amazon Managed Prometheus with AWS Signature Version 4 added.

    Args:
        url: complete address, with the query encoded as it will be sent.
        headers: headers to sign; `Host` follows from the address.
        region: AWS region, for example `eu-west-1`.

    Raises:
        AccessDenied: this machine has no credentials; their sources are those of the AWS tools.
    """
    from botocore.auth import SigV4Auth
    from botocore.awsrequest import AWSRequest

    request = AWSRequest(method=method, url=url, data=body, headers=headers)
    SigV4Auth(_credentials(), "aps", region).add_auth(request)
    return {str(name): str(value) for name, value in request.headers.items()}


@lru_cache(maxsize=1)
def _session() -> Any:
    from plimsoll.sources.files.bounded_session import BoundedSession

    return BoundedSession()


def _credentials() -> Any:
    from botocore.exceptions import BotoCoreError

    try:
        found = _session().get_credentials()
        frozen = None if found is None else found.get_frozen_credentials()
    except BotoCoreError as error:
        raise AccessDenied(
            "unable to load AWS credentials for Amazon Managed Prometheus",
            "Check AWS_PROFILE and the files in ~/.aws, or log in with 'aws sso login'.",
        ) from error
    if frozen is None or not frozen.access_key:
        raise AccessDenied(
            "no AWS credentials for Amazon Managed Prometheus",
            "Set AWS_PROFILE or log in with 'aws sso login'; the role needs aps:QueryMetrics.",
        )
    return frozen
