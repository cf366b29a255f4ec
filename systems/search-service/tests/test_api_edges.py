"""What the API refuses, and that it says so in one form."""

import concurrent.futures
import contextlib
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import httpx
import pytest
from flow import environment
from hypothesis import given, settings, strategies
from msgspec.structs import replace
from searching import Api

from search_service.api.request import BadRequestError, SearchRequest, after_of, cursor_of, parsed
from search_service.settings import Settings


@pytest.mark.parametrize(
    ("parameters", "word"),
    [
        ({"limit": "0"}, "limit"),
        ({"limit": "101"}, "limit"),
        ({"limit": "many"}, "limit"),
        ({"q": "a " * 17}, "16 words"),
        ({"q": "a" * 257}, "256"),
        ({"sort": "color"}, "sort"),
        ({"facet": "texts"}, "facet"),
        ({"price_from": "-1"}, "price_from"),
        ({"price_to": "null"}, "price_to"),
        ({"category": "C 1"}, "category"),
        ({"brand": [str(n) for n in range(21)]}, "20"),
        ({"page": "2"}, "no parameter 'page'"),
        ({"q": ["a", "b"]}, "twice"),
        ({"q": "a\0b"}, "U+0000"),
        ({"cursor": "!!"}, "cursor"),
        ({"cursor": "e30"}, "cursor"),
        ({"cursor": cursor_of("price", [1, "p-1"])}, "another sort"),
        ({"sort": "price", "cursor": cursor_of("price", [{"a": 1}, "p-1"])}, "cursor"),
        ({"sort": "price", "cursor": cursor_of("price", ["x", "p-1"])}, "cursor"),
        ({"sort": "price", "cursor": cursor_of("price", [10**40, "p-1"])}, "cursor"),
        ({"sort": "price", "cursor": cursor_of("price", [1, "p\u0000"])}, "cursor"),
        ({"cursor": cursor_of("relevance", [1e300, "p-1"])}, "cursor"),
        ({"cursor": cursor_of("relevance", [None, "p-1"])}, "cursor"),
        ({"cursor": cursor_of("relevance", [1.0, "_id"])}, "cursor"),
    ],
)
def test_what_is_out_of_bounds_is_refused(searchable: Api, parameters: dict[str, object], word: str):
    answer = searchable.client.get("/v1/search", params=parameters)
    body = answer.json()

    assert (400, "application/problem+json") == (answer.status_code, answer.headers["content-type"])
    assert {"type", "title", "status", "detail"} == set(body)
    assert word in body["detail"]


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer wrong", "Basic secret", "secret", "Bearer secret2"])
@pytest.mark.parametrize("path", ["/v1/search", "/v1/suggest?q=a", "/v1/products/p-1"])
def test_without_a_token_nothing_is_answered(searchable: Api, path: str, header: str):
    answer = httpx.get(f"{searchable.url}{path}", headers={"authorization": header})

    assert (401, "Bearer") == (answer.status_code, answer.headers["www-authenticate"])


def test_each_token_may_search(searchable: Api):
    answer = httpx.get(f"{searchable.url}/v1/search", headers={"authorization": "bearer other"})

    assert 200 == answer.status_code


def test_other_methods_and_addresses_are_problems(searchable: Api):
    wrong, missing = searchable.client.post("/v1/search"), searchable.client.get("/v2")

    assert [405, 404] == [wrong.status_code, missing.status_code]
    assert {"application/problem+json"} == {wrong.headers["content-type"], missing.headers["content-type"]}


@pytest.mark.parametrize(
    ("method", "path", "parts", "status"),
    [
        ("GET", "/v1/search", {"content": b"{}"}, 413),
        ("GET", "/v1/search", {"content": iter([b"{}"])}, 413),
        ("GET", "/healthz", {"content": b"a" * 10**7}, 413),
        ("GET", "/v1/search?q=" + "a" * 20_000, {}, 414),
        ("GET", "/" + "a" * 20_000, {}, 414),
        ("POST", "/v1/search", {"content": b"a" * 10_000}, 405),
        ("DELETE", "/v1/products/p-1", {}, 405),
        ("PUT", "/openapi.json", {"content": b"{}"}, 405),
        ("BREW", "/healthz", {}, 405),
        ("GET", "/v1", {}, 404),
        ("GET", "/v1/products/p-1/more", {}, 404),
        ("GET", "/v1/products/p-1?x=1", {}, 400),
    ],
)
def test_every_refusal_is_a_problem(searchable: Api, method: str, path: str, parts: dict[str, Any], status: int):
    """Too large, too long, another method, no such address: one form, and the service goes on."""
    with httpx.Client(base_url=searchable.url, timeout=30, headers=searchable.client.headers) as one:
        answer = one.request(method, path, **parts)
    body = answer.json()

    assert (status, "application/problem+json") == (answer.status_code, answer.headers["content-type"])
    assert (status, {"type", "title", "status", "detail"}) == (body["status"], set(body))
    assert 200 == searchable.client.get("/v1/search").status_code


def test_what_is_no_http_is_a_problem(searchable: Api):
    """The connection is closed afterwards."""
    address = ("127.0.0.1", int(searchable.url.rpartition(":")[2]))
    with socket.create_connection(address, 30) as line:
        line.sendall(b"SEARCH boots\r\n\r\n")
        answer = b"".join(iter(lambda: line.recv(4096), b""))

    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"application/problem+json" in answer


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"GET /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: 20000000\r\n\r\n" + b"a" * 20_000_000, 413),
        (b"GET /healthz HTTP/1.1\r\nHost: a\r\nX-Long: " + b"a" * 20_000_000, 400),
    ],
    ids=["body", "header"],
)
def test_who_sends_everything_first_gets_an_answer(searchable: Api, sent: bytes, status: int):
    """
    More than the buffers of both sides hold; a service that closed with bytes unread would reset the connection.
    """
    address = ("127.0.0.1", int(searchable.url.rpartition(":")[2]))
    with socket.create_connection(address, 30) as line:
        line.sendall(sent)
        line.shutdown(socket.SHUT_WR)
        answer = b"".join(iter(lambda: line.recv(4096), b""))

    assert answer.startswith(b"HTTP/1.1 %d " % status)
    assert answer.endswith(b"}")


@settings(max_examples=300)
@given(strategies.text(max_size=300))
def test_no_cursor_is_an_error_of_ours(text: str):
    """It is one that we made, or it is refused."""
    try:
        found = after_of(SearchRequest(cursor=text))
    except BadRequestError:
        return
    assert found is None or len(found) == 2


@settings(max_examples=300)
@given(
    strategies.lists(
        strategies.tuples(strategies.sampled_from(["q", "brand", "limit", "sort", "x"]), strategies.text(max_size=20))
    )
)
def test_no_parameter_is_an_error_of_ours(given_parameters: list[tuple[str, str]]):
    with contextlib.suppress(BadRequestError):
        assert parsed(SearchRequest, given_parameters).limit <= 100


def test_the_api_keeps_to_its_description(searchable: Api, tmp_path: Path):
    """
    Requests that schemathesis makes of the description, valid or not, get an answer that is in it.
    """
    done = subprocess.run(
        [
            *(str(Path(sys.executable).with_name("schemathesis")), "run"),
            *(f"{searchable.url}/openapi.json", "--header", "Authorization: Bearer secret"),
            # A schema cannot say which cursors a search has returned, or how many words a text has.
            *("--exclude-checks", "positive_data_acceptance"),
            *("--max-examples", "60", "--seed", "1", "--generation-database", "none", "--no-color"),
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )

    assert 0 == done.returncode, done.stdout
    assert "Selected: 3/3" in done.stdout


def test_an_engine_that_is_away_is_503():
    """The process is healthy, and not ready."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        free = probe.getsockname()[1]
    api = Api(Settings(engine_url=f"http://127.0.0.1:{free}", api_tokens="secret"), sys.executable)
    api._answers = lambda: _is_healthy(api)
    with api:
        answers = [api.client.get(path) for path in ("/healthz", "/readyz", "/v1/search")]

    assert [200, 503, 503] == [answer.status_code for answer in answers]
    assert "1" == answers[2].headers["retry-after"]
    assert str(free) not in answers[2].text


def _is_healthy(api: Api) -> bool:
    try:
        return api.client.get("/healthz").status_code == 200
    except httpx.TransportError:
        return False


def test_too_many_searches_at_once_are_refused_at_once():
    """An engine that hangs holds as many as it may, and the others need not wait for it."""
    hanging = socket.create_server(("127.0.0.1", 0), backlog=128)
    url = f"http://127.0.0.1:{hanging.getsockname()[1]}"
    held: list[socket.socket] = []
    threading.Thread(target=lambda: _hold(hanging, held), daemon=True).start()
    api = Api(Settings(engine_url=url, api_tokens="secret"), sys.executable)
    api._answers = lambda: _is_healthy(api)
    with api, concurrent.futures.ThreadPoolExecutor(60) as pool:
        answers = list(pool.map(lambda _: api.client.get("/v1/search"), range(60)))
        hanging.close()
        for one in held:
            one.close()
    reasons = {answer.json()["detail"] for answer in answers}

    assert {503} == {answer.status_code for answer in answers}
    assert {"Too many searches at once.", "The search engine does not answer."} == reasons


def _hold(server: socket.socket, held: list[socket.socket]) -> None:
    try:
        while True:
            held.append(server.accept()[0])
    except OSError:
        return


@pytest.mark.parametrize(
    ("changed", "word"),
    [
        ({"api_tokens": ""}, "SEARCH_API_TOKENS"),
        ({"api_port": "taken"}, "SEARCH_API_PORT"),
        ({"api_port": "99999"}, "SEARCH_API_PORT"),
        ({"engine_url": "ftp://x"}, "SEARCH_ENGINE_URL"),
        ({"prefix": "Catalog*"}, "SEARCH_PREFIX"),
    ],
)
def test_settings_that_cannot_be_used_end_the_command(changed: dict[str, str], word: str):
    """With one sentence that names the variable, and status 2."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        given_settings = {k: v.replace("taken", port) for k, v in changed.items()}
        env = environment(replace(Settings(), api_tokens="secret"))
        env |= {f"SEARCH_{name.upper()}": value for name, value in given_settings.items()}
        done = subprocess.run(
            [sys.executable, "-m", "search_service", "api"],
            env=env,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    assert 2 == done.returncode
    assert word in done.stderr.splitlines()[0]
    assert "Traceback" not in done.stderr
