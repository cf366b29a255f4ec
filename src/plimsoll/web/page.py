"""
The page of `plimsoll watch`: the fleet, an instance, what if, and that somebody knows of an alert.

Rule 1: an answer is computed from what the loop last found. No request asks AWS or waits for the loop.
Rule 2: without scripts everything can be read and done; scripts only bring changes sooner.
Rule 3: nothing here writes to a database or an account. An acknowledgement is written to the ledger, and that is all.
"""

import base64
import secrets
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any
from urllib.parse import urlencode

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from plimsoll.errors import PlimsollError
from plimsoll.reports.render.page_policy import without_own_styles
from plimsoll.watch.found import BoardEntry
from plimsoll.watch.ledger import Acknowledgement, LedgerError
from plimsoll.watch.pages import PageSources
from plimsoll.web import words
from plimsoll.web.fleet import STATES, summary_of
from plimsoll.web.guard import COOKIE, FormGuard, HostNames, PageGuard, RefusedFormError, policy_of
from plimsoll.web.markup import STATIC, rendered, static_text, warm_up
from plimsoll.web.reports import InstanceReports
from plimsoll.web.rows import FleetRows, ShownRow
from plimsoll.web.stream import PageStreams
from plimsoll.web.what_if import BusyError, Planner, question_of

# More rows than this are on a second page.
ROWS_MAX = 1000
_QUERY_MAX = 200
_PERSON_MAX, _NOTE_MAX = 80, 300
_FOREVER = "private, max-age=31536000, immutable"


class WebPage:
    """Answers the requests of the page."""

    def __init__(self, sources: PageSources, planner: Planner | None = None) -> None:
        """Serve what the sources have; nothing is computed yet."""
        self._sources = sources
        self._rows = FleetRows(sources)
        self._reports = InstanceReports(sources, self._rows)
        self._planner = planner or Planner()
        self._streams = PageStreams(lambda: sources.board.revision)
        self._names = HostNames(sources.external_url)
        self._forms = FormGuard(self._names)

    @property
    def routes(self) -> Sequence[BaseRoute]:
        """Return the paths of the page."""
        guard = [Middleware(PageGuard, names=self._names)]
        route = partial(Route, middleware=guard)
        return (
            route("/", self._fleet),
            route("/events", self._events),
            route("/static/{name}", self._static),
            route("/instances/{key}", self._instance),
            route("/instances/{key}/what-if", self._what_if),
            route("/instances/{key}/acknowledge", self._acknowledge, methods=["POST"]),
            route("/instances/{key}/withdraw", self._withdraw, methods=["POST"]),
        )

    def end(self) -> None:
        """End all streams; called from another thread."""
        self._streams.end()

    # --- reading ----------------------------------------------------------------------------------

    def _fleet(self, request: Request) -> Response:
        warm_up()
        revision = self._sources.board.revision
        rows = self._rows.all()
        query = request.query_params.get("q", "")[:_QUERY_MAX].strip()
        state = request.query_params.get("state", "")
        chosen = [one for one in rows if _matches(one, query, state)]
        pages = max(1, -(-len(chosen) // ROWS_MAX))
        page = min(max(_whole(request.query_params.get("page", "1")), 1), pages)
        kept = {name: value for name, value in (("q", query), ("state", state)) if value}
        return self._page(
            "fleet.html.j2",
            root="",
            rows=[one.markup for one in chosen[(page - 1) * ROWS_MAX : page * ROWS_MAX]],
            count=len(rows),
            chosen_count=len(chosen),
            summary=summary_of(one.row for one in rows),
            query=query,
            state=state,
            states=[one.value for one in STATES],
            page=page,
            pages=pages,
            page_links=[f"?{urlencode({**kept, 'page': n})}" for n in range(1, pages + 1)],
            is_simulated=any(one.row.is_simulated for one in rows),
            events=f"events?since={revision}",
            status=self._sources.status(),
        )

    def _instance(self, request: Request) -> Response:
        entry = self._entry(request)
        cookie = self._forms.cookie_of(request)
        answer = self._page(
            "instance.html.j2",
            root="../",
            events=f"../events?since={entry.revision}&instance={entry.status.instance.key}",
            token=self._forms.token_of(cookie),
            **self._reports.values(entry),
        )
        answer.set_cookie(COOKIE, cookie, httponly=True, samesite="strict", secure=request.url.scheme == "https")
        return answer

    def _what_if(self, request: Request) -> Response:
        entry = self._entry(request)
        asked = request.query_params
        values: dict[str, Any] = {"error": "", "hint": "", "plan": None}
        try:
            question = question_of(
                asked.get("growth", ""), asked.get("class", ""), keeps_storage=bool(asked.get("keep-storage"))
            )
            key = entry.status.instance.key
            plan = self._planner.answer(key, entry.revision, entry.snapshot, question)
            values |= self._reports.plan_values(plan)
        except PlimsollError as error:
            values |= {"error": error.message, "hint": error.hint or ""}
        except BusyError as error:
            values |= {"error": str(error), "status_code": 503}
        return self._page(
            "what_if.html.j2",
            root="../../",
            events="",
            growth=asked.get("growth", "")[:20],
            db_class=asked.get("class", "")[:60],
            keeps_storage=bool(asked.get("keep-storage")),
            **self._reports.heading(entry),
            **values,
        )

    def _events(self, request: Request) -> Response:
        since = _whole(request.headers.get("last-event-id") or request.query_params.get("since", ""))
        key = request.query_params.get("instance", "")
        token = self._forms.token_of(self._forms.cookie_of(request))
        parts = partial(self._reports.parts, key, token) if key else self._fleet_parts
        return self._streams.answer(parts, since)

    def _fleet_parts(self, since: int) -> dict[str, str]:
        rows = self._rows.all()
        found = {f"i-{one.row.key}": one.markup for one in rows if one.revision > since or not one.fresh}
        if found:
            summary = summary_of(one.row for one in rows)
            found["summary"] = rendered("summary.html.j2", summary=summary)
        return found

    def _static(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in STATIC:
            raise HTTPException(404)
        headers = {"Cache-Control": _FOREVER if request.query_params.get("v") else "no-store"}
        return Response(static_text(name), media_type=STATIC[name], headers=headers)

    # --- an alert that somebody knows of ----------------------------------------------------------

    async def _acknowledge(self, request: Request) -> Response:
        entry, fields = await self._form(request)
        known = Acknowledgement(
            key=fields.get("key", ""),
            number=_whole(fields.get("number", "")),
            person=(_user_of(request) or fields.get("person", "")).strip()[:_PERSON_MAX],
            note=fields.get("note", "").strip()[:_NOTE_MAX],
            at_s=int(self._sources.clock.now_s()),
        )
        noted = await self._written(partial(self._sources.acknowledge, entry.status.instance, known))
        if not noted:
            raise HTTPException(409, "this alert has changed since; load the page again")
        self._sources.log("acknowledged", instance=entry.status.instance.name, key=known.key, person=known.person)
        return _back(entry)

    async def _withdraw(self, request: Request) -> Response:
        entry, fields = await self._form(request)
        key = fields.get("key", "")
        await self._written(partial(self._sources.withdraw, entry.status.instance, key))
        self._sources.log("acknowledgement withdrawn", instance=entry.status.instance.name, key=key)
        return _back(entry)

    async def _form(self, request: Request) -> tuple[BoardEntry, dict[str, str]]:
        try:
            fields = await self._forms.fields(request)
        except RefusedFormError as error:
            raise HTTPException(403, str(error)) from error
        return self._entry(request), fields

    async def _written(self, write: Callable[[], object]) -> object:
        try:
            return await run_in_threadpool(write)
        except LedgerError as error:
            raise HTTPException(503, error.message) from error

    # --- all of them ------------------------------------------------------------------------------

    def _entry(self, request: Request) -> BoardEntry:
        found = self._rows.entry(request.path_params["key"])
        if found is None:
            raise HTTPException(404, "this instance is not watched, or was not read yet")
        return found

    def _page(self, template: str, *, status_code: int = 200, **values: object) -> Response:
        nonce = secrets.token_urlsafe(16)
        text = rendered(
            template,
            nonce=nonce,
            version=self._sources.version,
            is_owner=self._sources.is_owner(),
            now=words.moment(self._sources.clock.now_s()),
            **values,
        )
        # Drawings have styles of their own, and no table has: looking for them in a thousand rows takes long.
        if " style=" in text:
            text = without_own_styles(text)
        return HTMLResponse(text, status_code, headers={"Content-Security-Policy": policy_of(nonce)})


def _matches(one: ShownRow, query: str, state: str) -> bool:
    row = one.row
    text = f"{row.name} {row.place} {row.facts}".lower()
    return (not state or row.state.value == state) and query.lower() in text


def _whole(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else 0


def _user_of(request: Request) -> str:
    """Return the user who signed in; empty without one. Who may sign in was checked before."""
    kind, _, rest = request.headers.get("authorization", "").partition(" ")
    if kind.lower() != "basic":
        return ""
    try:
        return base64.b64decode(rest, validate=True).decode().partition(":")[0]
    except ValueError:
        return ""


def _back(entry: BoardEntry) -> Response:
    # Relative, so that it is right behind a proxy with a path of its own.
    return RedirectResponse(f"../{entry.status.instance.key}", 303)
