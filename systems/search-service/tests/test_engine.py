"""What the service does while a search engine is busy, starts, or refuses."""

import json
import sys

import pytest
from flow import changed, product, query, supplier
from searching import Api
from stub import Stub, written
from test_apply import put

from search_service.admin.writing import write_all
from search_service.engine import Engine, EngineError, Write
from search_service.errors import ServiceError, UnavailableError
from search_service.fan_out import pending_changes
from search_service.index_work import LIVE
from search_service.indexer import BatchSize, Indexing
from search_service.mapping import index_body
from search_service.metrics import Metrics
from search_service.model import GenerationRow
from search_service.settings import Settings

STARTING = {"error": {"reason": "all shards failed"}}
FOUND = {"timed_out": False, "_shards": {"failed": 0}, "hits": {"total": {"value": 7, "relation": "eq"}, "hits": []}}


def busy(times: int, status: int = 503):
    """An engine that is busy so many times, and then answers."""
    left = [times]

    def answer(_method: str, _path: str, _body: bytes):
        left[0] -= 1
        return (status, STARTING) if left[0] >= 0 else (200, FOUND)

    return answer


@pytest.mark.parametrize("status", [429, 503])
def test_a_request_is_repeated_while_shards_start(status: int):
    """An operator's command does not fail because a node was started a moment ago."""
    with Stub(busy(3, status)) as stub, Engine(stub.url) as engine:
        found = engine.count("x")

    assert (7, 4) == (found, len(stub.requests))
    assert all("allow_partial_search_results=false" in path for _, path in stub.requests)


def test_a_request_is_repeated_for_a_bounded_time():
    with (
        Stub(busy(10**6)) as stub,
        Engine(stub.url, patience_s=0.5) as engine,
        pytest.raises(EngineError, match="503: all shards failed") as raised,
    ):
        engine.count("x")

    assert 1 < len(stub.requests) < 10
    assert raised.value.hint


def test_a_refusal_is_not_repeated():
    with Stub(busy(1, 400)) as stub, Engine(stub.url) as engine, pytest.raises(EngineError, match="400"):
        engine.count("x")

    assert 1 == len(stub.requests)


def test_an_engine_that_is_busy_does_not_lack_an_index():
    """A number of an index is taken again otherwise."""
    with Stub(busy(2)) as stub, Engine(stub.url) as engine:
        assert engine.exists("x")
    with Stub(busy(1, 404)) as stub, Engine(stub.url) as engine:
        assert not engine.exists("x")


def test_a_search_is_repeated_while_shards_start():
    """The caller of the API waits for a moment instead of getting an error."""
    with Stub(busy(3)) as stub, Api(Settings(engine_url=stub.url, api_tokens="secret"), sys.executable) as api:  # fmt: skip
        found = api.get("/v1/search")

    assert 7 == found["total"]


def test_a_status_says_that_the_engine_is_busy(capsys: pytest.CaptureFixture[str]):
    """One sentence and a hint, whatever the engine answers."""
    from search_service import cli

    def refuse(*_: object) -> int:
        raise EngineError(503, "all shards failed")

    module = type("Module", (), {"add": staticmethod(lambda _: None), "run": staticmethod(refuse)})
    before, cli.import_module = cli.import_module, lambda _: module
    try:
        status = cli.main(["status"])
    finally:
        cli.import_module = before

    assert 2 == status
    assert 2 == len(capsys.readouterr().err.splitlines())


def fill_work(database, products: int) -> None:
    from search_service.database import transaction

    put(database, *(changed(product(n)) for n in range(products)))
    with transaction(database) as session:
        session.add(GenerationRow(name="x-000001", state=LIVE, shards=1, body=index_body(shards=1)))


def indexed_by(database, answer, steps: int = 60) -> tuple[Indexing, list[str]]:
    """An indexer's steps on an engine; the sentences of those that failed."""
    failures = []
    with Stub(answer) as stub, Engine(stub.url, patience_s=0) as engine:
        indexing = Indexing(database, engine, Settings(batch_documents=64), Metrics())
        for _ in range(steps):
            try:
                if not indexing.step():
                    break
            except UnavailableError as error:
                failures.append(error.sentence)
        indexing.close()
    return indexing, failures


@pytest.mark.parametrize("status", [429, 413])
def test_an_engine_that_takes_little_gets_less_at_a_time(database, status: int):
    """The requests shrink until the engine takes them, and every document arrives."""
    fill_work(database, 100)
    sizes = []

    def answer(_method: str, path: str, body: bytes):
        if path != "/_bulk":
            return 200, {}
        sizes.append(len(body.splitlines()) // 2)
        return (200, written(body)) if sizes[-1] <= 10 else (status, {"error": "too much"})

    indexing, failures = indexed_by(database, answer)

    assert [64, 32, 16, 8] == sizes[:4]
    assert failures
    assert 100 == sum(size for size in sizes if size <= 10)
    assert indexing.size.now >= 8


def test_single_documents_that_are_refused_for_now_are_sent_again(database):
    """A bulk request succeeds as a whole while writes in it are refused with 429."""
    fill_work(database, 20)
    seen: dict[str, int] = {}

    def answer(_method: str, path: str, body: bytes):
        if path != "/_bulk":
            return 200, {}
        found = written(body)
        actions = [json.loads(line) for line in body.splitlines()]
        ids = [one["index"]["_id"] for one in actions if "index" in one]
        for item, product_id in zip(found["items"], ids, strict=True):
            seen[product_id] = seen.get(product_id, 0) + 1
            if product_id.endswith("7") and seen[product_id] < 3:
                item["index"]["status"] = 429
        return 200, found

    _, failures = indexed_by(database, answer)

    assert {"the search engine asks for fewer writes"} == set(failures)
    assert {"p-7": 3, "p-17": 3} == {name: count for name, count in seen.items() if count > 1}
    assert 20 == len(seen)


def test_a_document_that_the_engine_refuses_stops_no_other(database):
    """Its work stays, and it is not sent again at once."""
    fill_work(database, 5)
    sent = []

    def answer(_method: str, path: str, body: bytes):
        if path != "/_bulk":
            return 200, {}
        found = written(body)
        actions = [json.loads(line) for line in body.splitlines()]
        ids = [one["index"]["_id"] for one in actions if "index" in one]
        sent.extend(ids)
        found["items"][ids.index("p-3")]["index"] = {"status": 400, "error": {"reason": "no"}}
        return 200, found

    indexed_by(database, answer)

    assert ["p-0", "p-1", "p-2", "p-3", "p-4"] == sorted(sent)


def test_the_indexer_says_which_index_is_missing(database):
    fill_work(database, 1)
    _, failures = indexed_by(database, lambda _m, _p, body: (200, written(body, 404)), steps=1)

    assert ["the search engine has no index x-000001"] == failures


def test_documents_are_fresh_only_after_a_refresh(database):
    """What was written and cannot be found yet is not measured."""
    fill_work(database, 3)
    metrics = Metrics()

    def fresh() -> float | None:
        name = "search_freshness_seconds_count"
        return metrics.registry.get_sample_value(name, {"changed": "product"})

    def answer(_method: str, path: str, body: bytes):
        return (200, {}) if path != "/_bulk" else (200, written(body))

    with Stub(answer) as stub, Engine(stub.url) as engine:
        indexing = Indexing(database, engine, Settings(), metrics)
        indexing.step()
        before = fresh()
        indexing.close()
        paths = [path for _, path in stub.requests]

    assert ["/_bulk", "/x-000001/_refresh"] == paths
    assert (0, 3) == (before, fresh())
    assert 3 == metrics.registry.get_sample_value("search_documents_indexed_total")


def pending_after_each(database, steps: int) -> list[int]:
    """Suppliers whose products are not marked, after each step of an indexer with pages of ten."""
    found = []
    with Stub(lambda _m, p, body: (200, written(body) if p == "/_bulk" else {})) as stub, Engine(stub.url) as engine:  # fmt: skip
        indexing = Indexing(database, engine, Settings(batch_documents=10), Metrics())
        for _ in range(steps):
            indexing.step()
            found.append(pending_changes(database))
        indexing.close()
    return found


def test_what_changed_by_itself_is_indexed_before_what_a_rename_changed(database):
    """Products of a renamed supplier are marked when a page is not full any more."""
    fill_work(database, 45)
    put(database, changed(supplier()))

    assert [1, 1, 1, 1, 0] == pending_after_each(database, 5)


def test_a_rename_is_spread_also_while_there_is_always_more_to_index(database):
    fill_work(database, 150)
    put(database, changed(supplier()))

    assert [1] * 9 + [0] == pending_after_each(database, 10)


def test_a_batch_grows_again_slowly():
    size = BatchSize(500)
    for _ in range(20):
        size.shrink()
    smallest = size.now
    for _ in range(200):
        size.grow()

    assert (1, 500) == (smallest, size.now)


def test_an_operators_writes_wait_for_a_busy_engine():
    """And end with one sentence if it refuses a document for good."""
    calls = []

    def answer(_method: str, _path: str, body: bytes):
        calls.append(body)
        return (429, {"error": "later"}) if len(calls) < 3 else (200, written(body))

    writes = [Write(index="x", id=str(n), version=1, document={"id": str(n)}) for n in range(8)]
    with Stub(answer) as stub, Engine(stub.url) as engine:
        done = write_all(engine, writes)
    with (
        Stub(lambda _m, _p, body: (200, written(body, 400))) as stub,
        Engine(stub.url) as engine,
        pytest.raises(ServiceError, match="refused product 0"),
    ):
        write_all(engine, writes)

    assert {write.id for write in writes} == {outcome.write.id for outcome in done}


def test_a_late_write_does_not_bring_a_deleted_document_back(settings: Settings, engine: Engine):
    """
    Also after `index.gc_deletes`, when the engine has forgotten real deletions, as the second document shows.
    """
    index = f"{settings.prefix}-000001"
    engine.request("PUT", f"/{index}/_settings", {"index": {"gc_deletes": "1ms"}})
    body = {"id": "1", "version": 1, "is_deleted": False}
    gone = {"id": "1", "version": 3, "is_deleted": True}
    forgotten = {**body, "id": "2"}
    engine.bulk([Write(index=index, id="1", version=1, document=body), Write(index=index, id="2", version=1, document=forgotten)])  # fmt: skip
    engine.bulk([Write(index=index, id="1", version=3, document=gone), Write(index=index, id="2", version=3, document=None)])  # fmt: skip
    back = None
    for _ in range(300):
        engine.refresh(index)
        late = engine.bulk([Write(index=index, id="1", version=2, document=body), Write(index=index, id="2", version=2, document=forgotten)])  # fmt: skip
        back = late[1].status
        if back == 201:
            break
    engine.refresh(index)
    found = {one[0]: one[1:] for one in engine.versions(index)}

    assert (409, 201) == (late[0].status, back)
    assert (3, True) == found["1"]


def test_indexes_with_other_fields_get_what_they_have(settings: Settings, engine: Engine):
    """A live index of an earlier version of the service takes documents of this one."""
    query(settings, "UPDATE generation SET body = body #- '{mappings,properties,country}' RETURNING 1")
    engine.delete_index(f"{settings.prefix}-000001")
    ((body,),) = query(settings, "SELECT body FROM generation")
    engine.create_index(f"{settings.prefix}-000001", body)
    from search_service.database import connect
    from search_service.index_work import index_page

    database = connect(settings.database_url)
    put(database, changed(product()))
    indexed = index_page(database, engine, 10)
    database.dispose()
    engine.refresh(f"{settings.prefix}-000001")
    (hit,) = engine.search(f"{settings.prefix}-000001", {})["hits"]["hits"]

    assert (1, ()) == (indexed.done, indexed.refused)
    assert "country" not in hit["_source"]
    assert "Warm leather boots" == hit["_source"]["name"]
