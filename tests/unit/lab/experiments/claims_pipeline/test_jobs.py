"""The jobs of the pipeline, with a database that writes down what it was told."""

from pathlib import Path
from threading import Event
from typing import Self

import pytest

from patience import until
from plimsoll.errors import SourceError
from plimsoll_lab.experiments.claims_pipeline import jobs as jobs_module
from plimsoll_lab.experiments.claims_pipeline.database import VIEWS
from plimsoll_lab.experiments.claims_pipeline.jobs import Batch, Jobs, WorkerDisk
from plimsoll_lab.experiments.claims_pipeline.story import LoadPath

ROWS = b"1,2022,0,0\n" * 20_000


class ToldDatabase:
    """Keeps what it was told, in `told`; a COPY of a file waits until it is let go or cancelled."""

    told: list[tuple[object, ...]]
    hold: Event
    cancelled: Event

    def __init__(self, dsn: str) -> None:
        pass

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        pass

    def copy_file(self, path: str) -> None:
        self.told.append(("file", Path(path).name))
        while not self.hold.wait(0.01):
            if self.cancelled.is_set():
                raise SourceError("cancelled", "Run it again.")

    def copy_rows(self, _: str, parts) -> None:
        self.told.append(("rows", sum(len(part) for part in parts)))

    def refresh(self, view: str, org: int) -> None:
        self.told.append(("refresh", view, org))

    def present_bytes(self, org: int) -> int:
        return 1_000_000 * org

    def cancel(self) -> None:
        self.cancelled.set()


class ToldPace:
    """Keeps what it was asked for."""

    def __init__(self) -> None:
        self.sent = 0
        self.storage: list[float] = []

    def wait(self, byte_count: int, stop: Event) -> None:
        self.sent += byte_count

    def wait_for_storage(self, byte_count: float, stop: Event) -> None:
        self.storage.append(byte_count)


@pytest.fixture
def told(monkeypatch) -> type[ToldDatabase]:
    class Database(ToldDatabase):
        told, hold, cancelled = [], Event(), Event()

    Database.hold.set()
    monkeypatch.setattr(jobs_module, "ClaimsDatabase", Database)
    return Database


def batch(folder: Path, path: LoadPath, *, count: int = 1, pace: ToldPace | None = None) -> Batch:
    files = []
    for org in range(1, count + 1):
        file = folder / f"claims-{org}.csv"
        file.write_bytes(ROWS)
        files.append((org, file))
    worker = folder / "worker"
    worker.mkdir()
    return Batch(
        dsn="",
        files=tuple(files),
        path=path,
        are_views_refreshed=count > 1,
        worker=WorkerDisk(10 * len(ROWS)),
        worker_folder=worker,
        pace=pace,
    )


def wait_for(condition) -> None:
    assert until(condition, 60)


def test_the_old_path_takes_the_time_of_the_disk_twice(told, tmp_path: Path):
    """A file is written to the worker's disk, and read from it again; it does not stay there."""
    with Jobs(batch(tmp_path, LoadPath.WORKER)) as jobs:
        wait_for(lambda: jobs.are_done)
        (times,) = jobs.times()

    assert [("rows", len(ROWS))] == told.told
    assert times.loaded_s >= 0.2
    assert [] == list((tmp_path / "worker").iterdir())


def test_views_are_refreshed_after_their_file(told, tmp_path: Path):
    """Of each organisation, one after the other; the words say how far it is."""
    with Jobs(batch(tmp_path, LoadPath.SERVER, count=3)) as jobs:
        wait_for(lambda: jobs.are_done)
        jobs.check()

    for org in (1, 2, 3):
        mine = [one for one in told.told if one[-1] in (org, f"claims-{org}.csv")]
        assert [("file", f"claims-{org}.csv"), *(("refresh", v, org) for v in VIEWS)] == mine
    assert "3 of 3 files loaded, 6 of 6 views refreshed" == jobs.words


def test_a_paced_job_waits_for_all_that_it_causes(told, tmp_path: Path):
    """Every byte of the file, and the storage that each refresh will take."""
    pace = ToldPace()
    with Jobs(batch(tmp_path, LoadPath.PACED, count=2, pace=pace)) as jobs:
        wait_for(lambda: jobs.are_done)

    assert 2 * len(ROWS) == pace.sent
    assert 2 * len(VIEWS) == len(pace.storage)
    assert min(pace.storage) >= 1_000_000


def test_jobs_that_are_ended_early_are_cancelled(told, tmp_path: Path):
    """The end of the block cancels what the server still does, and waits for the threads."""
    told.hold.clear()
    with Jobs(batch(tmp_path, LoadPath.SERVER)) as jobs:
        wait_for(lambda: told.told)
        assert not jobs.are_done

    assert jobs.are_done
    with pytest.raises(SourceError, match="cancelled"):
        jobs.check()
