"""The process around the loop: health, reload, an orderly end."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from msgspec.structs import replace

from patience import until
from plimsoll.errors import UsageError
from plimsoll.model.database import Observation
from plimsoll.watch.config import WebSettings
from plimsoll.watch.ledger import Ledger, LedgerError
from plimsoll.watch.service import OpenedConfiguration, WatchService
from plimsoll.watch.targets import Computations
from scenes import Scene, full, settings_of


def opened(scene: Scene, **changes: object) -> OpenedConfiguration:
    """The configuration of a scene, with a free port."""
    settings = replace(settings_of(web=WebSettings(listen_address="127.0.0.1:0")), ledger=str(scene.path))
    usual = {"settings": settings, "targets": [scene.target], "receivers": [scene.book]}
    return OpenedConfiguration(**(usual | changes))  # type: ignore[arg-type]


def service_of(
    scene: Scene, *, loaded: list[int] | None = None, load: Callable[[], OpenedConfiguration] | None = None
) -> WatchService:
    """A service of a scene; the second time its configuration cannot be read."""
    loads = loaded if loaded is not None else []

    def load_twice() -> OpenedConfiguration:
        loads.append(1)
        if len(loads) == 2:
            raise UsageError("'watch.toml' is not TOML", "Correct it.")
        return opened(scene)

    return WatchService(
        load or load_twice,
        Computations(diagnose=scene.diagnose, advise=lambda _d, _s: (), draw=lambda _d, _s: b""),
        owner="first",
        clock=scene.clock,
        log=scene.log,
        usd_per_metric=None,
    )


@contextmanager
def running(service: WatchService) -> Iterator[str]:
    """Run a service in a thread; its address."""
    address: list[str] = []
    listening = threading.Event()

    def on_listening(text: str) -> None:
        address.append(text)
        listening.set()

    thread = threading.Thread(target=service.run, args=(on_listening,))
    thread.start()
    try:
        assert listening.wait(10.0)
        yield f"http://{address[0]}"
    finally:
        service.stop()
        thread.join(10.0)
        assert not thread.is_alive()


def test_health_and_readiness_differ(tmp_path: Path):
    """It is ready after the first reading; it is not healthy when the loop shows no life for minutes."""
    scene = Scene(tmp_path)
    service = service_of(scene)

    assert service.ready() == (503, "the first reading is not finished")
    with running(service) as url:
        assert until(lambda: httpx.get(f"{url}/-/ready").status_code == 200)
        assert httpx.get(f"{url}/-/healthy").text == "healthy\n"
        assert httpx.get(f"{url}/").status_code == 404
        assert httpx.get(f"{url}/-/reload").status_code == 405
        assert httpx.head(f"{url}/-/healthy").text == ""
    scene.real_s += 301
    assert service.healthy() == (503, "the loop has been stuck for 301 s")


def test_a_bad_configuration_changes_nothing(tmp_path: Path):
    """The answer says what is wrong, and the watch goes on; a good one is taken over."""
    scene = Scene(tmp_path)
    loaded: list[int] = []
    with running(service_of(scene, loaded=loaded)) as url:
        bad = httpx.post(f"{url}/-/reload")
        good = httpx.post(f"{url}/-/reload")
        assert until(lambda: bool(scene.events("reloaded")))

    assert (bad.status_code, bad.text) == (400, "the old configuration goes on: 'watch.toml' is not TOML\n")
    assert good.status_code == 200
    # Once at the start, once for each request: what was checked is what is used.
    assert len(loaded) == 3


def test_a_signal_with_a_bad_configuration_is_logged(tmp_path: Path):
    """One line, and the old configuration goes on."""
    scene = Scene(tmp_path)
    service = service_of(scene)
    with running(service) as url:
        service.reload()
        assert until(lambda: bool(scene.events("not reloaded")))
        assert httpx.get(f"{url}/-/healthy").status_code == 200


def values(text: str) -> dict[str, float]:
    """Samples of a page in Prometheus's older format, by name and labels as they are written."""
    lines = [line.rpartition(" ") for line in text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in lines}


def test_metrics_are_those_of_the_last_turn(tmp_path: Path):
    """Scrapes add no request; a message that is sent is counted; the loop's view is an hour of calm."""
    scene = Scene(tmp_path)
    service = service_of(scene)
    place = 'aws_account_id="",aws_region="",dbidentifier="orders"'
    with running(service) as url:
        assert until(lambda: httpx.get(f"{url}/-/ready").status_code == 200)
        asked = scene.asked
        pages = [httpx.get(f"{url}/metrics") for _ in range(3)]
        assert httpx.head(f"{url}/metrics").text == ""
        assert httpx.post(f"{url}/metrics").status_code == 405
        wanted = {"Accept": "application/openmetrics-text; version=1.0.0"}
        assert httpx.get(f"{url}/metrics", headers=wanted).text.endswith("# EOF\n")

    found = values(pages[-1].text)
    assert scene.asked == asked
    assert found["plimsoll_watch_lease_owner"] == found['plimsoll_watch_polls_total{target="rds:*"}'] == 1
    assert found['plimsoll_watch_metrics_requested_total{target="rds:*"}'] == 14
    assert found['plimsoll_watch_messages_sent_total{receiver="ops"}'] == 0
    assert found['plimsoll_watch_outbox_messages{receiver="ops"}'] == 0
    assert found[f"plimsoll_instance_stale{{{place}}}"] == 0
    (served,) = [
        value
        for name, value in found.items()
        if name.startswith("plimsoll_served_bytes") and 'ceiling="instance_ebs' in name
    ]
    assert served == 10e6


def test_metrics_of_a_spare_are_its_own(tmp_path: Path):
    """No instance: two series of one instance would count it twice."""
    scene = Scene(tmp_path)
    with scene.open("second") as ledger:
        assert ledger.take_lease(scene.real_s)
        with running(service_of(scene)) as url:
            assert until(lambda: httpx.get(f"{url}/-/ready").status_code == 200)
            found = values(httpx.get(f"{url}/metrics").text)

    assert found["plimsoll_watch_lease_owner"] == 0
    assert not [name for name in found if "dbidentifier" in name or "outbox" in name]


def test_it_ends_in_order(tmp_path: Path):
    """The lease is given up, so that another process need not wait for it."""
    scene = Scene(tmp_path)
    with running(service_of(scene)):
        pass

    assert scene.events("stopped")[0]["waiting"] == 0
    with scene.open("second") as ledger:
        assert ledger.take_lease(scene.real_s)


def test_once_reads_sends_and_gives_a_status(tmp_path: Path):
    """None where another process has the lease."""
    scene = Scene(tmp_path, "b" * 60)
    scene.real_s += 40 * 60

    assert service_of(scene).once() == 1
    assert scene.book.states == [("bound", 1)]
    with scene.open("second") as ledger:
        assert ledger.take_lease(scene.real_s)
        assert service_of(scene).once() is None


def test_a_reload_says_what_it_does_not_change(tmp_path: Path):
    """The ledger and the address stay those of the start."""
    scene = Scene(tmp_path)
    ledgers = [str(scene.path), str(tmp_path / "other.db"), str(scene.path)]

    def load() -> OpenedConfiguration:
        return opened(scene, settings=replace(opened(scene).settings, ledger=ledgers.pop(0)))

    service = service_of(scene, load=load)
    with running(service):
        service.reload()
        assert until(lambda: len(scene.events("reloaded")) == 1)
        service.reload()
        assert until(lambda: len(scene.events("reloaded")) == 2)

    (line,) = scene.events("not changed")
    assert (line["setting"], line["still"]) == ("ledger", str(scene.path))
    assert not (tmp_path / "other.db").exists()


def test_once_is_no_success_if_nothing_could_be_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """An error, not the status of what was known before; the next process need not wait for the lease."""
    scene = Scene(tmp_path, "")
    assert service_of(scene).once() == 0
    scene.real_s += 3600

    with monkeypatch.context() as patched:
        patched.setattr(Ledger, "store", full)
        with pytest.raises(LedgerError):
            service_of(scene).once()
    with scene.open("second") as ledger:
        assert ledger.take_lease(scene.real_s)


def test_it_ends_in_the_middle_of_a_round(tmp_path: Path):
    """A long round is not finished first: what was not read is read by the next process."""
    scene = Scene(tmp_path)
    services: list[WatchService] = []
    read = scene.read

    def slow(*arguments: object) -> Iterator[object]:
        for item in read(*arguments):  # type: ignore[arg-type]
            yield item
            services[0].stop()
            yield item
            raise AssertionError("it went on")

    scene.read = slow  # type: ignore[method-assign, assignment]
    services.append(service_of(scene))
    services[0].run()

    assert scene.events("stopped")
    assert not scene.events("trouble")


def test_databases_are_inspected_while_it_runs(tmp_path: Path):
    """By the owner, beside the loop; a reload begins anew, and the end does not wait for the observation."""
    scene = Scene(tmp_path)
    asked: list[bool] = []

    def observe(sleep: Callable[[float], None]) -> Observation:
        asked.append(True)
        sleep(60.0)
        raise AssertionError

    def load() -> OpenedConfiguration:
        return opened(scene, targets=[replace(scene.target, databases={"orders": observe})], receivers=[])

    service = service_of(scene, load=load)
    began_s = time.monotonic()
    with running(service) as url:
        assert until(lambda: len(asked) == 1)
        assert httpx.post(f"{url}/-/reload").status_code == 200
        assert until(lambda: len(asked) == 2)

    assert time.monotonic() - began_s < 10.0
    assert scene.events("database not inspected") == []
