"""
The API as an ASGI application.

Rule 1: every request but those for health needs a token; tokens are compared in constant time.
Rule 2: at most so many searches run at once. More are refused at once with 503 and `Retry-After`, so that a slow
        engine is not buried.
Rule 3: a search that the engine cannot answer yet is repeated for a moment: the shards of a node that starts are not
        readable at once.
Rule 4: the engine's own words never reach a caller; they are in the log.
"""

import asyncio
import hmac
import logging
import re
import time
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import msgspec
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from search_service.api.answer import search_answer, suggest_answer, whole_product
from search_service.api.limits import Limits
from search_service.api.openapi import openapi
from search_service.api.problem import problem
from search_service.api.query import product_body, search_body, suggest_body
from search_service.api.request import BadRequestError, SearchRequest, SuggestRequest, parsed
from search_service.settings import Settings

AT_ONCE = 32
TIMEOUT_S = 5.0
RETRY_S = "1"
AGAIN_S, PAUSE_S = 2.0, 0.2
"""For so long a search is repeated when the engine answers 503, with pauses."""
_ID = re.compile(r"[a-z0-9-]{1,40}")
_LOG = logging.getLogger("search_service.api")

Handler = Callable[[Request], Awaitable[Response]]


class EngineAwayError(Exception):
    """The engine did not answer a search."""


class Api:
    """What the routes share."""

    def __init__(self, settings: Settings, client: httpx.AsyncClient) -> None:
        """Keep the settings and a client of the engine."""
        self._tokens = [token.encode() for token in sorted(settings.tokens)]
        self._path = f"/{settings.alias}/_search"
        self._client = client
        self._free = asyncio.Semaphore(AT_ONCE)

    async def search(self, request: Request) -> Response:
        """Answer `GET /v1/search`."""
        wanted = parsed(SearchRequest, request.query_params.multi_items())
        return _json(search_answer(wanted, await self._ask(search_body(wanted))))

    async def suggest(self, request: Request) -> Response:
        """Answer `GET /v1/suggest`."""
        wanted = parsed(SuggestRequest, request.query_params.multi_items())
        return _json(suggest_answer(wanted.limit, await self._ask(suggest_body(wanted))))

    async def product(self, request: Request) -> Response:
        """Answer `GET /v1/products/{product_id}`."""
        if request.query_params:
            raise BadRequestError("this address has no parameters")
        product_id = request.path_params["product_id"]
        found = None
        if _ID.fullmatch(product_id):
            found = whole_product(await self._ask(product_body(product_id)))
        return problem(404, "There is no product with this id.") if found is None else _json(found)

    async def openapi(self, _request: Request) -> Response:
        """Answer `GET /openapi.json`."""
        return _json(openapi())

    async def healthy(self, _request: Request) -> Response:
        """Answer `GET /healthz`: the process runs."""
        return _json({"status": "ok"})

    async def ready(self, _request: Request) -> Response:
        """Answer `GET /readyz`: a search would succeed."""
        try:
            await self._ask({"size": 0})
        except EngineAwayError:
            return problem(503, "The search engine does not answer.", {"Retry-After": RETRY_S})
        return _json({"status": "ok"})

    def guarded(self, handler: Handler) -> Handler:
        """Return a handler that wants a token, refuses what is too much, and answers errors as problems."""

        async def guard(request: Request) -> Response:
            if not self._may(request.headers.get("authorization", "")):
                return problem(401, "Send Authorization: Bearer TOKEN.", {"WWW-Authenticate": "Bearer"})
            if self._free.locked():
                return problem(503, "Too many searches at once.", {"Retry-After": RETRY_S})
            async with self._free:
                try:
                    return await handler(request)
                except BadRequestError as error:
                    return problem(400, str(error))
                except EngineAwayError:
                    return problem(503, "The search engine does not answer.", {"Retry-After": RETRY_S})

        return guard

    def _may(self, header: str) -> bool:
        scheme, _, token = header.partition(" ")
        given = token.strip().encode("utf-8", "surrogateescape")
        # All are compared, whichever fits.
        fits = [hmac.compare_digest(given, token) for token in self._tokens]
        return scheme.lower() == "bearer" and any(fits)

    async def _ask(self, body: dict[str, Any]) -> Any:
        content, end = msgspec.json.encode(body), time.monotonic() + AGAIN_S
        while True:
            answer = await self._post(content)
            if answer.status_code != 503 or time.monotonic() > end:
                break
            await asyncio.sleep(PAUSE_S)
        if answer.status_code != 200:
            _LOG.warning("the search engine answered %s: %.500s", answer.status_code, answer.text)
            raise EngineAwayError
        return msgspec.json.decode(answer.content)

    async def _post(self, content: bytes) -> httpx.Response:
        try:
            return await self._client.post(self._path, content=content, headers={"content-type": "application/json"})
        except httpx.TransportError as error:
            _LOG.warning("the search engine does not answer: %s", error or type(error).__name__)
            raise EngineAwayError from None


def application(settings: Settings, transport: httpx.AsyncBaseTransport | None = None) -> Starlette:
    """
    Return the application.

    Args:
        settings: where the engine is, and who may search.
        transport: of requests to the engine; None for the network.
    """
    client = httpx.AsyncClient(
        base_url=settings.engine_url,
        timeout=TIMEOUT_S,
        transport=transport,
        limits=httpx.Limits(max_connections=AT_ONCE, max_keepalive_connections=AT_ONCE),
    )
    api = Api(settings, client)
    routes = [
        Route("/v1/search", api.guarded(api.search), methods=["GET"]),
        Route("/v1/suggest", api.guarded(api.suggest), methods=["GET"]),
        Route("/v1/products/{product_id}", api.guarded(api.product), methods=["GET"]),
        Route("/openapi.json", api.openapi, methods=["GET"]),
        Route("/healthz", api.healthy, methods=["GET"]),
        Route("/readyz", api.ready, methods=["GET"]),
    ]
    handlers: dict[Any, Any] = {404: _missing, 405: _not_allowed, 500: _failed}
    return Starlette(routes=routes, exception_handlers=handlers, middleware=[Middleware(Limits)])


def _json(body: object) -> Response:
    return Response(msgspec.json.encode(body), media_type="application/json")


async def _missing(_request: Request, _error: Exception) -> Response:
    return problem(404, "The addresses are listed in /openapi.json.")


async def _not_allowed(_request: Request, _error: Exception) -> Response:
    return problem(405, "Use GET.", {"Allow": "GET, HEAD"})


async def _failed(_request: Request, _error: Exception) -> Response:
    return problem(500, "The error is in the service's log.")
