"""What killed gates left behind is removed, and its record only after that."""

import os
import subprocess
import tempfile
from pathlib import Path

import pytest

from plimsoll.errors import SourceError
from plimsoll.model.instance import Instance
from plimsoll_lab.gate import place
from plimsoll_lab.gate.config import GateSetup
from plimsoll_lab.gate.control import GateControl, Home
from plimsoll_lab.gate.place import MountAnswer
from plimsoll_lab.gate.stale import clean_stale

SETUP = GateSetup(instance=Instance(db_class="db.t3.xlarge"))


class Machine:
    """A machine with one mount whose daemon is gone."""

    def __init__(self) -> None:
        self.is_mounted, self.answer, self.refuses, self.aborted = True, MountAnswer.DEAD, False, 0

    def is_gate_at(self, _: Path) -> bool:
        return self.is_mounted

    def answer_of(self, _: Path) -> MountAnswer:
        return self.answer

    def abort(self, _: Path) -> None:
        self.aborted += 1

    def detach(self, _: Path) -> None:
        if self.refuses:
            raise SourceError("it could not be taken away", "Try again.")
        self.is_mounted = False


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Machine:
    """Use no real mount of this machine."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    found = Machine()
    for name in ("is_gate_at", "answer_of", "abort", "detach"):
        monkeypatch.setattr(place, name, getattr(found, name))
    return found


def ended_pid() -> int:
    done = subprocess.Popen(["true"])
    done.wait()
    return done.pid


def left(owner_pid: int, owner_ticks: int | None = None) -> GateControl:
    control = GateControl(place.new_home())
    control.save_home(
        Home(
            setup=SETUP,
            mount="/srv/disk",
            daemon_mount="/srv/disk",
            backing="/srv/data",
            owner_pid=owner_pid,
            owner_ticks=owner_ticks,
        )
    )
    return control


def test_a_dead_mount_goes_and_then_its_record(machine: Machine):
    """Owner, keeper and daemon were killed: the next start removes the mount."""
    control = left(ended_pid())

    assert [Path("/srv/disk")] == clean_stale()
    assert not control.folder.exists()


@pytest.mark.parametrize("answer", [MountAnswer.DEAD, MountAnswer.NONE, MountAnswer.SERVED])
def test_a_record_stays_as_long_as_its_mount(machine: Machine, answer: MountAnswer):
    """A mount that could not be detached, or that still answers, is tried again at the next start."""
    machine.answer, machine.refuses = answer, True
    control = left(ended_pid())
    assert [] == clean_stale()
    assert control.folder.exists()
    machine.answer, machine.refuses = MountAnswer.DEAD, False

    assert [Path("/srv/disk")] == clean_stale()
    assert not control.folder.exists()


def test_a_mount_that_answers_nothing_is_ended_first(machine: Machine):
    """Processes that wait for the rest of a killed gate get an error."""
    machine.answer = MountAnswer.NONE
    left(ended_pid())

    assert [Path("/srv/disk")] == clean_stale()
    assert 1 == machine.aborted


def test_a_number_that_another_process_has_now_is_no_owner(machine: Machine):
    """An owner is identified by its process id and its start time."""
    us = os.getpid()
    living = left(us, place.started_ticks(us))
    assert [] == clean_stale()
    other = left(us, 1)

    assert [Path("/srv/disk")] == clean_stale()
    assert living.folder.exists()
    assert not other.folder.exists()


def test_a_folder_without_a_record_goes_with_its_maker(machine: Machine):
    """A start that was killed before it wrote anything leaves an empty folder until the next start."""
    ours = place.new_home()
    other = ours.with_name(f"gate-{ended_pid()}-x")
    other.mkdir()

    clean_stale()

    assert ours.exists()
    assert not other.exists()
