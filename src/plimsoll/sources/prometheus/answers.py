"""What a server answers, decoded; what it refuses, as one sentence. Pure: nothing here connects."""

import re
from typing import Any

import msgspec
from msgspec import Struct

from plimsoll.errors import AccessDenied, PlimsollError, SourceError, Throttled, Unreachable
from plimsoll.sources.prometheus.server import PASSWORD, TOKEN, USER, PrometheusServer
from plimsoll.sources.values.shown import shown

_PREFIXES = (
    "Add the path before /api/v1: Mimir has http://host/prometheus, VictoriaMetrics clusters "
    "http://host:8481/select/0/prometheus, Amazon …/workspaces/ws-…"
)
# Go's and nginx's words for a plain request on a port of TLS.
_WANTS_TLS = re.compile(rb"HTTP request (to an|was sent to) HTTPS (server|port)", re.IGNORECASE)
_TOO_MUCH = ("too many samples", "too many points", "too many chunks", "exceed", "too many series")


class TooMuch(Exception):
    """The answer to one question would be larger than the server, or we, allow."""

    def __init__(self, reason: str) -> None:
        """Keep the server's `reason`, or ours."""
        super().__init__(reason)
        self.reason = reason


class Answer(Struct, rename="camel"):
    """What every call of the interface answers."""

    status: str
    data: msgspec.Raw = msgspec.Raw(b"null")
    error_type: str = ""
    error: str = ""
    warnings: list[str] | None = None
    is_partial: bool = False
    """VictoriaMetrics: a storage node did not answer."""


class SeriesRow(Struct):
    """One series of a range answer."""

    metric: dict[str, str]
    values: list[tuple[float, str]] = []


class _Matrix(Struct, rename="camel"):
    result_type: str
    result: msgspec.Raw


_ANSWER = msgspec.json.Decoder(Answer)
_MATRIX = msgspec.json.Decoder(_Matrix)
_ROWS = msgspec.json.Decoder(list[SeriesRow])
_LABELS = msgspec.json.Decoder(list[dict[str, str]])
_NAMES = msgspec.json.Decoder(list[str])

_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""No JSON, cut off, of another shape, or nested deeper than anybody nests."""


def answer_of(body: bytes, server: PrometheusServer, kind: str) -> Answer:
    """
    Return the envelope of a successful call.

    Args:
        body: as received.
        kind: the content type the server claimed, for the message.

    Raises:
        SourceError: not an answer of this interface, or one that reports an error.
    """
    try:
        answer = _ANSWER.decode(body)
    except _UNREADABLE as error:
        if "html" in kind or body.lstrip()[:1] == b"<":
            raise SourceError(
                f"{server.url} answers with a web page, not with metrics; it may be a login page",
                f"Give the address of the server behind it, or a {TOKEN} that it accepts.",
            ) from error
        cut = "an answer that is cut off or no JSON"
        raise SourceError(
            f"{server.url} gave {cut}",
            "Check that the address is of a Prometheus-compatible server.",
        ) from error
    if answer.status != "success":
        raise SourceError(
            f"{server.url} reports an error: {said(answer, server)}",
            "Check the server's own state; its log says more.",
        )
    return answer


def rows_of(answer: Answer, server: PrometheusServer) -> list[SeriesRow]:
    """Return the series of a range selector with their samples."""
    try:
        matrix = _MATRIX.decode(answer.data)
        if matrix.result_type == "matrix":
            return _ROWS.decode(matrix.result)
    except _UNREADABLE as error:
        raise _unlike(server) from error
    raise _unlike(server)


def labels_of(answer: Answer, server: PrometheusServer) -> list[dict[str, str]]:
    """Return the labels of every series that was found."""
    return _typed(_LABELS, answer, server)  # type: ignore[no-any-return]


def names_of(answer: Answer, server: PrometheusServer) -> list[str]:
    """Return the values of a label."""
    return _typed(_NAMES, answer, server)  # type: ignore[no-any-return]


def _typed(decoder: msgspec.json.Decoder[Any], answer: Answer, server: PrometheusServer) -> Any:
    try:
        return decoder.decode(answer.data)
    except _UNREADABLE as error:
        raise _unlike(server) from error


def _unlike(server: PrometheusServer) -> SourceError:
    return SourceError(
        f"{server.url} answers in another form than Prometheus does",
        "Check that the address is of a Prometheus-compatible server.",
    )


def said(answer: Answer, server: PrometheusServer) -> str:
    """Return the server's own words, fit to print and without what is secret."""
    return shown(server.hidden(answer.error) or answer.error_type or "no reason given", 200)


def reason_of(body: bytes, server: PrometheusServer) -> str:
    """Return what a refusal says of itself; empty where it says nothing that can be shown."""
    try:
        return said(_ANSWER.decode(body), server)
    except _UNREADABLE:
        text = body[:400].decode("utf-8", errors="replace").strip()
        return "" if text[:1] in ("<", "") else shown(server.hidden(text.splitlines()[0]), 200)


def refusal(status: int, body: bytes, server: PrometheusServer) -> PlimsollError | TooMuch:
    """Return what an answer with an error status means."""
    url, reason = server.url, reason_of(body, server)
    because = f": {reason}" if reason else ""
    if status in (401, 403):
        if server.region is not None:
            hint = "Allow aps:QueryMetrics, aps:GetSeries and aps:GetLabels for this AWS role."
        else:
            hint = f"Set {TOKEN}, or {USER} and {PASSWORD}; Mimir asks for --header X-Scope-OrgID:…"
        return AccessDenied(f"{url} refuses to answer ({status}){because}", hint)
    if status == 404:
        return SourceError(f"{url} has no query interface there (404)", _PREFIXES)
    if status == 429:
        return Throttled(
            f"{url} asks to slow down (429){because}",
            "Try again later, or ask for a shorter window with --last.",
        )
    if status in (400, 413, 422, 503) and any(w in reason.lower() for w in _TOO_MUCH):
        return TooMuch(reason)
    if status == 400 and url.startswith("http:") and _WANTS_TLS.search(body[:4000]):
        return SourceError(
            f"{url} speaks https and was asked by http",
            f"Write https: prom:https{url.removeprefix('http')}.",
        )
    if status in (400, 422):
        return SourceError(
            f"{url} does not take the query ({status}){because}",
            "Check --match; servers other than Prometheus may lack a part of its language.",
        )
    if 300 <= status < 400:
        return SourceError(
            f"{url} redirects elsewhere ({status}); it may be a login page",
            f"Give the final address, or a {TOKEN} that it accepts.",
        )
    if status in (502, 503, 504):
        return Unreachable(
            f"{url} is not available ({status}){because}",
            "Check the server and the proxy before it, and try again.",
        )
    return SourceError(f"{url} failed ({status}){because}", "The server's own log says why.")
