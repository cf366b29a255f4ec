"""Decode a server's answers, and explain its refusals in one sentence. Nothing here connects."""

import re
from typing import Any

import msgspec
from msgspec import Struct

from plimsoll.errors import AccessDenied, PlimsollError, SourceError, Throttled, Unreachable
from plimsoll.sources.prometheus.server import PASSWORD, TOKEN, USER, PrometheusServer
from plimsoll.sources.values.shown import shown

_PREFIXES = (
    "Add the path before /api/v1: for Mimir http://host/prometheus, for VictoriaMetrics clusters "
    "http://host:8481/select/0/prometheus, for Amazon …/workspaces/ws-…"
)
# Answers of Go and nginx to a plain HTTP request on a TLS port.
_WANTS_TLS = re.compile(rb"HTTP request (to an|was sent to) HTTPS (server|port)", re.IGNORECASE)
_TOO_MUCH = ("too many samples", "too many points", "too many chunks", "exceed", "too many series")


class TooMuch(Exception):
    """The answer to one request would exceed the bound of the server or ours."""

    def __init__(self, reason: str) -> None:
        """Keep the server's `reason`, or ours."""
        super().__init__(reason)
        self.reason = reason


class Answer(Struct, rename="camel"):
    """Envelope of every answer of the HTTP API."""

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
"""Errors for no JSON, cut JSON, JSON of another shape, or JSON nested too deeply."""


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
    except _UNREADABLE as error:
        if "html" in kind or body.lstrip()[:1] == b"<":
            raise SourceError(
                f"{server.url} answered with a web page, not with metrics; it may be a login page",
                f"Give the address of the server behind it, or a {TOKEN} that it accepts.",
            ) from error
        cut = "an answer that is cut off or not JSON"
        raise SourceError(
            f"{server.url} sent {cut}", "Check that the address is of a Prometheus-compatible server."
        ) from error
    if answer.status != "success":
        raise SourceError(
            f"{server.url} reports an error: {error_text(answer, server)}", "Check the state of the server and its log."
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
    """Return the labels of every series found."""
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
        f"{server.url} answered in another form than Prometheus",
        "Check that the address is of a Prometheus-compatible server.",
    )


def error_text(answer: Answer, server: PrometheusServer) -> str:
    """Return the server's error message, printable and without secrets."""
    return shown(server.hidden(answer.error) or answer.error_type or "no reason given", 200)


def reason_of(body: bytes, server: PrometheusServer) -> str:
    """Return the reason in an error answer; empty if it has none that can be shown."""
    try:
        return error_text(_ANSWER.decode(body), server)
    except _UNREADABLE:
        text = body[:400].decode("utf-8", errors="replace").strip()
        return "" if text[:1] in ("<", "") else shown(server.hidden(text.splitlines()[0]), 200)


def refusal(status: int, body: bytes, server: PrometheusServer) -> PlimsollError | TooMuch:
    """Return the error for an answer with an error status."""
    url, reason = server.url, reason_of(body, server)
    because = f": {reason}" if reason else ""
    if status in (401, 403):
        if server.region is not None:
            hint = "Allow aps:QueryMetrics, aps:GetSeries and aps:GetLabels for this AWS role."
        else:
            hint = f"Set {TOKEN}, or {USER} and {PASSWORD}. Mimir needs --header X-Scope-OrgID:…"
            return AccessDenied(f"{url} refused the request ({status}){because}", hint)
    if status == 404:
        return SourceError(f"{url} has no Prometheus API at this path (404)", _PREFIXES)
    if status == 429:
        return Throttled(
            f"{url} throttles requests (429){because}", "Try again later, or give a shorter window with --last."
        )
    if status in (400, 413, 422, 503) and any(w in reason.lower() for w in _TOO_MUCH):
        return TooMuch(reason)
    if status == 400 and url.startswith("http:") and _WANTS_TLS.search(body[:4000]):
        return SourceError(
            f"{url} uses https, but the request was sent by http", f"Write https: prom:https{url.removeprefix('http')}."
        )
    if status in (400, 422):
        return SourceError(
            f"{url} does not accept the query ({status}){because}",
            "Check --match; servers other than Prometheus may lack a part of its query language.",
        )
    if 300 <= status < 400:
        return SourceError(
            f"{url} redirects elsewhere ({status}); it may be a login page",
            f"Give the final address, or a {TOKEN} that it accepts.",
        )
    if status in (502, 503, 504):
        return Unreachable(
            f"{url} is not available ({status}){because}",
            "Check the server and any proxy in front of it, and try again.",
        )
    return SourceError(f"{url} failed ({status}){because}", "Check the server's log.")
