"""
The search engine: OpenSearch or Elasticsearch 8, by the part of their API that both have.

Rule 1: no client library, for each refuses the other's servers. The requests are few and plain.
Rule 2: a refusal says whether trying again can help: 429 and 503 can, everything else cannot. Every request but a bulk
        is repeated for a while then: shards of an engine that has just started are not readable yet. Whoever sends a
        bulk decides what to send again.
Rule 3: an answer is about all shards, or it is an error. An engine that misses a shard leaves its documents out
        otherwise, and says so in a number that is easily overlooked.
"""

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

import httpx
import msgspec

from search_service.errors import ServiceError, UnavailableError

TIMEOUT_S = 30.0
PATIENCE_S = 60.0
"""A request is repeated for so long while the engine is busy; the shards of a node that starts need seconds."""
WAIT_FIRST_S, WAIT_MOST_S = 0.1, 2.0
"""Pause before a request is repeated: the first, doubled up to the longest."""
BUSY = frozenset({429, 502, 503, 504})
SCAN_PAGE = 5000


class EngineError(ServiceError):
    """The engine refused a request."""

    def __init__(self, status: int, reason: str) -> None:
        """Keep the HTTP status and the engine's own words."""
        hint = "Try again later; its log says more." if status in BUSY else ""
        super().__init__(f"the search engine answered {status}: {reason}", hint)
        self.status = status

    @property
    def is_busy(self) -> bool:
        """Return whether the same request may succeed later."""
        return self.status in BUSY


class Write(msgspec.Struct, frozen=True, kw_only=True):
    """A document to write to an index under a version that the writer chose, or to remove."""

    index: str
    id: str
    version: int
    document: Mapping[str, Any] | None
    """None removes the document, unless the index has a later version."""
    fields: frozenset[str] | None = None
    """Fields of the index, to which alone the document is reduced; None for all of the document."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a `Write`."""

    write: Write
    status: int
    reason: str = ""

    @property
    def is_done(self) -> bool:
        """Return whether the index has this version or a later one: a conflict (409) is done."""
        return self.status in {200, 201, 409} or (self.is_gone and self.write.document is None)

    @property
    def is_busy(self) -> bool:
        """Return whether the same write may succeed later."""
        return self.status in BUSY

    @property
    def is_gone(self) -> bool:
        """Return whether there is no such index: it was dropped meanwhile."""
        return self.status == 404


class Engine:
    """A connection to a search engine; safe to use from several threads."""

    def __init__(self, url: str, *, timeout_s: float = TIMEOUT_S, patience_s: float = PATIENCE_S) -> None:
        """
        Keep the address; nothing is sent yet.

        Args:
            url: of the engine's REST API.
            timeout_s: of one request.
            patience_s: for how long a request other than a bulk is repeated while the engine is busy.
        """
        self.url = url
        self._patience_s = patience_s
        self._client = httpx.Client(base_url=url, timeout=timeout_s)

    def __enter__(self) -> Self:
        """Return the engine itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the connections."""
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def request(self, method: str, path: str, body: object = None) -> Any:
        """
        Send a request, again while the engine is busy, and return the answer's JSON.

        Raises:
            EngineError: the engine refused it, or stayed busy.
            UnavailableError: the engine does not answer.
        """
        content = None if body is None else msgspec.json.encode(body)
        end, wait = time.monotonic() + self._patience_s, WAIT_FIRST_S
        while True:
            try:
                return self._send(method, path, content, "application/json")
            except EngineError as error:
                if not error.is_busy or time.monotonic() + wait > end:
                    raise
            time.sleep(wait)
            wait = min(WAIT_MOST_S, 2 * wait)

    def create_index(self, name: str, body: Mapping[str, Any]) -> None:
        """
        Create an index with settings and mappings; an index of that name that exists stays as it is.

        It gets an alias through which alone it is written. A write that comes after its deletion is refused then,
        where a write to its own name would create an index without our mappings.
        """
        try:
            aliases: dict[str, dict[str, str]] = {_write_alias(name): {}}
            self.request("PUT", f"/{quote(name)}", {**body, "aliases": aliases})
        except EngineError as error:
            if error.status != 400 or not self.exists(name):
                raise

    def exists(self, name: str) -> bool:
        """Return whether there is an index or an alias of that name."""
        try:
            self.request("HEAD", f"/{quote(name)}")
        except EngineError as error:
            if error.status != 404:
                raise
            return False
        return True

    def delete_index(self, name: str) -> None:
        """Delete an index; it is no error if there is none."""
        try:
            self.request("DELETE", f"/{quote(name)}")
        except EngineError as error:
            if error.status != 404:
                raise

    def indexes_of(self, alias: str) -> tuple[str, ...]:
        """Return the names of the indexes behind an alias."""
        try:
            return tuple(sorted(self.request("GET", f"/_alias/{quote(alias)}")))
        except EngineError as error:
            if error.status != 404:
                raise
            return ()

    def point_alias(self, alias: str, index: str) -> None:
        """Make an alias stand for one index and no other, in one step."""
        others = [name for name in self.indexes_of(alias) if name != index]
        actions: list[dict[str, Any]] = [{"add": {"index": index, "alias": alias}}]
        actions += [{"remove": {"index": name, "alias": alias}} for name in others]
        self.request("POST", "/_aliases", {"actions": actions})

    def refresh(self, index: str) -> None:
        """Make all that was written searchable now."""
        self.request("POST", f"/{quote(index)}/_refresh")

    def bulk(self, writes: Sequence[Write]) -> list[Outcome]:
        """
        Write documents, each under its own version; an older version never replaces a newer one.

        Raises:
            EngineError: the whole request was refused.
            UnavailableError: the engine does not answer.
        """
        if not writes:
            return []
        answer = self._send("POST", "/_bulk", b"".join(_lines(writes)), "application/x-ndjson")
        items = [next(iter(item.values())) for item in answer["items"]]
        return [
            Outcome(write=write, status=item["status"], reason=_reason(item))
            for write, item in zip(writes, items, strict=True)
        ]

    def search(self, index: str, body: Mapping[str, Any]) -> Any:
        """Return the answer of all shards to a search."""
        path = f"/{quote(index)}/_search?allow_partial_search_results=false"
        return self.request("POST", path, body)

    def count(self, index: str, query: Mapping[str, Any] | None = None) -> int:
        """Return the number of searchable documents."""
        # `_count` would leave out the documents of a shard that is not readable yet.
        body = {"size": 0, "track_total_hits": True, "query": query or {"match_all": {}}}
        return int(self.search(index, body)["hits"]["total"]["value"])

    def versions(self, index: str, query: Mapping[str, Any] | None = None) -> Iterator[tuple[str, int, bool]]:
        """Yield the id, the version and whether it is a tombstone, of every searchable document, by id."""
        after: list[Any] | None = None
        while True:
            body = {
                "size": SCAN_PAGE,
                "query": query or {"match_all": {}},
                "sort": [{"id": "asc"}],
                "_source": ["id", "version", "is_deleted"],
                "track_total_hits": False,
            }
            page = self.search(index, body if after is None else {**body, "search_after": after})
            hits = page["hits"]["hits"]
            for hit in hits:
                source = hit["_source"]
                yield source["id"], source["version"], source["is_deleted"]
            if len(hits) < SCAN_PAGE:
                return
            after = hits[-1]["sort"]

    def wait_until_ready(self, timeout_s: float) -> None:
        """
        Return when the engine answers and its indexes can be read and written.

        Raises:
            UnavailableError: that did not happen in time.
        """
        end = time.monotonic() + timeout_s
        while True:
            try:
                health = self._send("GET", "/_cluster/health", None, "application/json")
            except (EngineError, UnavailableError):
                health = {"status": "red"}
            if health["status"] in {"yellow", "green"}:
                return
            if time.monotonic() > end:
                raise UnavailableError(
                    f"the search engine at {self.url} is not ready",
                    "Start it, or set SEARCH_ENGINE_URL to the address of one that runs.",
                )
            time.sleep(0.2)

    def _send(self, method: str, path: str, content: bytes | None, kind: str) -> Any:
        answer = self._raw(method, path, content, kind)
        if answer.status_code >= 400:
            raise EngineError(answer.status_code, _words(answer))
        return answer.json() if answer.content else None

    def _raw(self, method: str, path: str, content: bytes | None, kind: str) -> httpx.Response:
        headers = {} if content is None else {"content-type": kind}
        try:
            return self._client.request(method, path, content=content, headers=headers)
        except httpx.TransportError as error:
            raise UnavailableError(
                f"the search engine at {self.url} does not answer: {error or type(error).__name__}",
                "Start it, or set SEARCH_ENGINE_URL to the address of one that runs.",
            ) from None


def _lines(writes: Iterable[Write]) -> Iterator[bytes]:
    for write in writes:
        action: dict[str, Any] = {"_index": _write_alias(write.index), "require_alias": True}
        action["_id"] = write.id
        action["version"] = write.version
        if write.document is None:
            # The same version may come back, so the removal must not take the next one.
            yield msgspec.json.encode({"delete": {**action, "version_type": "external_gte"}})
            yield b"\n"
            continue
        yield msgspec.json.encode({"index": {**action, "version_type": "external"}})
        yield b"\n"
        yield msgspec.json.encode(_reduced(write.document, write.fields))
        yield b"\n"


def _reduced(document: Mapping[str, Any], fields: frozenset[str] | None) -> Mapping[str, Any]:
    """Return the document without fields that the index does not have: it would refuse them (`dynamic: strict`)."""
    if fields is None or document.keys() <= fields:
        return document
    return {name: value for name, value in document.items() if name in fields}


def _write_alias(index: str) -> str:
    return f"{index}-write"


def _reason(item: Mapping[str, Any]) -> str:
    error = item.get("error")
    return str(error.get("reason", error)) if isinstance(error, dict) else str(error or "")


def _words(answer: httpx.Response) -> str:
    try:
        error = answer.json().get("error", answer.text)
    except (json.JSONDecodeError, AttributeError):
        return answer.text[:300] or answer.reason_phrase
    return str(error.get("reason", error) if isinstance(error, dict) else error)[:300]
