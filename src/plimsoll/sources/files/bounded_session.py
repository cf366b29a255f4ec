"""
Bound what botocore holds of an answer: every client of a session reads at most so many bytes of it.

Bodies that are handed out piece by piece (objects of S3) are the reader's to bound.
"""

from typing import Any

from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.exceptions import BotoCoreError, ConnectionClosedError, ReadTimeoutError
from botocore.session import Session
from urllib3.exceptions import ProtocolError
from urllib3.exceptions import ReadTimeoutError as SlowBodyError

from plimsoll.units import MIB

MOST_BYTES = 16 * MIB
"""
More than twice the largest answer: GetMetricData returns at most 100,800 data points (Amazon CloudWatch API
Reference, 2026-11), 7.2 MiB as XML. A page of any other action has 100 records or 1 MiB.
"""


class AnswerTooLargeError(BotoCoreError):  # type: ignore[misc]  # botocore has no types
    """An answer has more than `MOST_BYTES`; the rest of it was not read."""

    fmt = "The answer has more than 16 MiB"


class BoundedSession(Session):  # type: ignore[misc]  # botocore has no types
    """Botocore's session; answers to each of its clients are bounded, those to its credentials' too."""

    def create_client(self, *args: Any, **kwargs: Any) -> Any:
        """Return the client that botocore makes."""
        client = super().create_client(*args, **kwargs)
        endpoint = client._endpoint  # noqa: SLF001 - botocore has no other way to its HTTP session
        endpoint.http_session = BoundedHttp(endpoint.http_session)
        return client


class BoundedHttp:
    """Botocore's HTTP session, except that it reads an answer no further than the bound."""

    def __init__(self, http: Any) -> None:
        """Send with `http`."""
        self._http = http

    def send(self, request: AWSPreparedRequest) -> AWSResponse:
        """
        Send a request and return the answer.

        Raises:
            AnswerTooLargeError: it has more bytes than the bound.
            BotoCoreError: it did not come, or not whole.
        """
        is_handed_out = request.stream_output
        # Otherwise the whole of it is read before it can be looked at.
        request.stream_output = True
        answer = self._http.send(request)
        if not is_handed_out or answer.status_code >= 300:
            answer._content = _whole(answer.raw, request.url)  # noqa: SLF001 - what `content` returns
        return answer

    def close(self) -> None:
        """Close the connections."""
        self._http.close()


def _whole(raw: Any, url: str) -> bytes:
    """Return a whole body as it was sent: botocore asks for no compression, and undoes none."""
    parts: list[bytes] = []
    left = MOST_BYTES
    try:
        for part in raw.stream():
            left -= len(part)
            if left < 0:
                raw.close()
                raise AnswerTooLargeError
            parts.append(part)
    except SlowBodyError as error:
        raise ReadTimeoutError(endpoint_url=url, error=error) from error
    except ProtocolError as error:
        raise ConnectionClosedError(endpoint_url=url, error=error) from error
    return b"".join(parts)
