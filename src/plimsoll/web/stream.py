"""
Changes as they come: server-sent events.

Rule: a stream ends when the server does, and there are no more of them than it can serve.
"""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable, Mapping

from starlette.concurrency import run_in_threadpool
from starlette.responses import PlainTextResponse, Response, StreamingResponse

# Far below the second in which people see a change, far above what a comparison of two numbers takes.
_LOOK_S = 0.25
# Shorter than the minute after which proxies close what is silent.
_HEARTBEAT_S = 15.0
# What grows old without a change is looked at this often.
_AGED_S = 5.0
# A judgement: a browser closes the stream of a page that nobody sees, so this many people look at once.
STREAMS_MAX = 100

Parts = Mapping[str, str]
"""Markup by the `id` of the element that it replaces."""


class PageStreams:
    """The open streams of a page."""

    def __init__(self, revision: Callable[[], int]) -> None:
        """
        Open none yet.

        Args:
            revision: grows when there is something to send.
        """
        self._revision = revision
        self._count = 0
        self._ended = threading.Event()

    def end(self) -> None:
        """End all streams soon; safe in any thread."""
        self._ended.set()

    def answer(self, parts: Callable[[int], Parts], since: int) -> Response:
        """
        Return an answer that goes on until the reader leaves.

        Args:
            parts: returns what changed after a revision; called in a thread.
            since: the revision that the reader has.
        """
        if self._count >= STREAMS_MAX or self._ended.is_set():
            return PlainTextResponse("too many pages are open\n", 503, {"Retry-After": "30"})
        return StreamingResponse(
            self._events(parts, since), media_type="text/event-stream", headers={"X-Accel-Buffering": "no"}
        )

    async def _events(self, parts: Callable[[int], Parts], since: int) -> AsyncIterator[str]:
        self._count += 1
        try:
            yield "retry: 3000\n\n"
            silent_s = aged_s = 0.0
            sent: dict[str, int] = {}
            while not self._ended.is_set():
                revision = self._revision()
                if revision != since or aged_s >= _AGED_S:
                    found = await run_in_threadpool(parts, since)
                    new = {n: text for n, text in found.items() if sent.get(n) != hash(text)}
                    aged_s, since = 0.0, revision
                    if new:
                        sent |= {name: hash(text) for name, text in new.items()}
                        silent_s = 0.0
                        yield f"event: parts\nid: {revision}\ndata: {json.dumps(new)}\n\n"
                if silent_s >= _HEARTBEAT_S:
                    silent_s = 0.0
                    yield ": alive\n\n"
                await asyncio.sleep(_LOOK_S)
                silent_s += _LOOK_S
                aged_s += _LOOK_S
        finally:
            self._count -= 1
