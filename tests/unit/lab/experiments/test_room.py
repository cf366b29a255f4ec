"""Where an experiment keeps its data: in memory, on a disk, or nowhere, with a sentence."""

from collections.abc import Callable
from pathlib import Path

import pytest

from plimsoll.errors import UsageError
from plimsoll.units import GIB
from plimsoll_lab.experiments import room

Machine = Callable[..., dict[str, Path]]


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A machine with so much memory and space."""
    places = {name: tmp_path / name for name in ("memory", "disk")}
    for place in places.values():
        place.mkdir()
    monkeypatch.delenv("TMPDIR", raising=False)
    monkeypatch.setattr(room, "_IN_MEMORY", places["memory"])
    monkeypatch.setattr(room, "disk_folder", lambda: places["disk"])

    def machine_of(*, available: int, memory_free: int, disk_free: int) -> dict[str, Path]:
        monkeypatch.setattr(room, "host_memory_bytes", {"MemAvailable": available}.get)
        free = {places["memory"]: memory_free, places["disk"]: disk_free}
        monkeypatch.setattr(room, "_free", free.get)
        return places

    return machine_of


@pytest.mark.parametrize(
    ("available", "memory_free", "place"),
    [(8 * GIB, 4 * GIB, "memory"), (4 * GIB, 4 * GIB, "disk"), (8 * GIB, 1 * GIB, "disk")],
    ids=["room for both", "too little memory for both", "a small /dev/shm, as containers have"],
)
def test_data_are_in_memory_if_servers_and_data_fit(machine: Machine, available: int, memory_free: int, place: str):
    places = machine(available=available, memory_free=memory_free, disk_free=9 * GIB)

    assert places[place] == room.data_folder(3 * GIB, 2 * GIB)


def test_a_folder_that_was_named_is_used(machine: Machine, monkeypatch: pytest.MonkeyPatch):
    places = machine(available=8 * GIB, memory_free=4 * GIB, disk_free=9 * GIB)
    monkeypatch.setenv("TMPDIR", str(places["disk"]))

    assert places["disk"] == room.data_folder(3 * GIB, 2 * GIB)


@pytest.mark.parametrize(
    ("available", "disk_free", "says"),
    [
        (1 * GIB, 9 * GIB, "1 GiB of memory are available, and the servers of this experiment take 2 GiB"),
        (3 * GIB, 1 * GIB, "disk', and this experiment writes 3 GiB"),
    ],
    ids=["memory", "space"],
)
def test_too_little_room_is_one_sentence(machine: Machine, available: int, disk_free: int, says: str):
    machine(available=available, memory_free=0, disk_free=disk_free)
    with pytest.raises(UsageError) as raised:
        room.data_folder(3 * GIB, 2 * GIB)

    assert says in str(raised.value)
    assert raised.value.hint
