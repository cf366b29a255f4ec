"""Errors of the API in the form of RFC 9457 (`application/problem+json`)."""

import msgspec
from starlette.responses import Response

TITLES = {
    400: "The request is not valid",
    401: "A token is required",
    404: "There is no such thing",
    405: "The method is not allowed",
    413: "The request is too large",
    414: "The address is too long",
    500: "The service failed",
    503: "The service is busy",
}


def problem(status: int, detail: str, headers: dict[str, str] | None = None) -> Response:
    """Return an error as an answer; `detail` tells this caller what to do."""
    body = {"type": "about:blank", "title": TITLES[status], "status": status, "detail": detail}
    return Response(msgspec.json.encode(body), status, headers=headers, media_type="application/problem+json")
