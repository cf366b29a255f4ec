"""A gate is started, asked, changed and ended; a double stands for its daemon, and nothing is mounted."""

import json
import os
import signal
import stat
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from patience import until
from plimsoll.errors import DataError, SourceError, UsageError
from plimsoll.model.ceiling import Family, Phase
from plimsoll.model.instance import Instance, Storage
from plimsoll.model.metric import Metric
from plimsoll.model.snapshot import EventKind
from plimsoll_lab.gate import place as gate_place
from plimsoll_lab.gate.config import GateSetup, parse_limits
from plimsoll_lab.gate.control import GateControl, find_gate, status_of
from plimsoll_lab.gate.gate import Gate
from programs import script
from unit.gate import gate_double
from unit.gate.gate_lines import lines

T3 = Instance(db_class="db.t3.xlarge", engine="postgres", storage=Storage(kind="gp2", size_gib=1000))
AT_60 = GateSetup(instance=T3, clock=60.0, credits=0.5)

Make = Callable[..., Gate]


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    """Make a gate whose daemon is the double; nothing is started yet."""
    program = script(tmp_path / "daemon", f'exec {sys.executable} {gate_double.__file__} "$@"')
    temporary = tmp_path / "t"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    monkeypatch.setattr(gate_place, "find_daemon", lambda: program)
    monkeypatch.setattr(gate_place, "check_machine", lambda: None)
    (tmp_path / "data").mkdir()

    def call(setup: GateSetup = AT_60) -> Gate:
        return Gate(setup, tmp_path / "data", tmp_path / "disk")

    return call


def ended(pid: int) -> bool:
    """Whether a process that is not our child ends soon; one that nobody waits for is left as a zombie."""
    state = Path(f"/proc/{pid}/stat")
    return until(lambda: not state.exists() or state.read_text().rpartition(")")[2].split()[0] == "Z", 30)


def asked(gate: Gate) -> list[dict]:
    return [json.loads(line) for line in (gate.backing / "asked.jsonl").read_text().splitlines()]


def test_a_gate_is_there_for_the_block_and_gone_after(make: Make):
    """
    The mount is made for it and removed; the daemon gets the setup, and ends; the record can still be read.
    One line of it at clock 60 is one minute, and the truth says what bound in it.
    """
    with make() as gate:
        assert gate.mount.is_dir()
        assert gate.is_running
        report = json.loads((gate.folder / "config.json").read_text())
        assert stat.S_ISSOCK(gate.socket_path.stat().st_mode)
        os.kill(gate.daemon_pid, 0)

    assert not gate.mount.exists()
    assert not gate.is_running
    assert gate.backing.is_dir()
    assert gate.record_path.exists()
    assert (60.0, str(gate.backing), str(gate.mount)) == tuple(report[key] for key in ("clock", "backing", "mount"))
    assert "instance_ebs_throughput" == report["chain"][0]["name"]
    assert 1 == len(gate.lines())
    assert [86.875e6] == pytest.approx(gate.snapshot().series[Metric.READ_BYTES_PER_S].value)
    assert ["instance_ebs_throughput"] == [moment.binding for moment in gate.truth().moments]
    with pytest.raises(ProcessLookupError):
        os.kill(gate.daemon_pid, 0)
    gate.check()
    gate.stop()


def test_its_folder_goes_with_the_object(make: Make):
    """Nothing is left in the temporary folder once nobody can read the record any more."""
    with make() as gate:
        folder = gate.folder
    del gate

    assert not folder.exists()


def test_a_folder_that_was_there_stays(make: Make):
    """Only what was made for the mount is removed."""
    gate = make()
    gate.mount.mkdir()
    with gate:
        pass

    assert gate.mount.is_dir()


def test_the_status_is_what_the_daemon_answers(make: Make):
    """
    Rates, balances and what binds; stages without credits have no balance. At 347.5 MB/s half a bucket
    lasts 15 minutes, which are 15 s at clock 60.
    """
    with make() as gate:
        status = gate.status()
    at_burst = replace(status, read_bytes_per_s=347.5e6, read_ops_per_s=347.5e6 / 131_072)

    assert 86.875e6 == status.bytes_per_s
    assert 0.5 == status.balance["instance_ebs_throughput"]
    assert None is status.balance["volume_throughput"]
    assert ("instance_ebs_throughput", Phase.BASELINE) == (status.binding, status.phase)
    assert 60.0 == status.clock
    # 86.875 MB/s is the baseline of the instance, so nothing drains there; the volumes' credits do
    # not fall either: 663 operations are less than four times 750.
    assert None is status.empty_in_s("instance_ebs_throughput")
    assert None is status.empty_in_s("volume_iops")
    assert 15.0 == pytest.approx(at_burst.empty_in_s("instance_ebs_throughput"))
    assert None is at_burst.empty_in_s("volume_throughput")
    assert None is at_burst.empty_in_s("no such stage")


def test_a_change_of_class_keeps_the_shares_and_is_remembered(make: Make):
    """The daemon gets the new chain with the old balances; the snapshot has the event."""
    with make() as gate:
        gate.change(replace(T3, db_class="db.m6g.xlarge"))
        order = asked(gate)[-1]
        status = gate.status()

    assert 148.5e6 == order["chain"][0]["baseline"]
    assert [0.5, 0.5, 1.0, 0.5] == order["balance_ratio"]
    assert 148.5e6 == status.chain[0].baseline
    (change,) = gate.changes()
    assert EventKind.CLASS_CHANGE == change.kind
    assert "class db.t3.xlarge → db.m6g.xlarge" == change.text
    snapshot = gate.snapshot()
    assert "db.m6g.xlarge" == snapshot.instance.db_class
    assert "class db.t3.xlarge → db.m6g.xlarge" == snapshot.annotations[0].text


def test_a_change_of_storage_names_both(make: Make):
    """Storage is said with what was bought of it."""
    bought = Storage(kind="io1", size_gib=1000, provisioned_ops_per_s=8000)
    with make() as gate:
        gate.change(replace(T3, storage=bought))

    (change,) = gate.changes()
    assert EventKind.STORAGE_CHANGE == change.kind
    assert "storage gp2, 1,000 GiB → io1, 1,000 GiB, 8,000 IOPS" == change.text


def test_a_restart_brings_todays_limits(make: Make):
    """Legacy limits end with a stop and start, as EC2 documents."""
    old = Instance(db_class="db.r5.2xlarge", engine="postgres", launched_s=1_559_347_200)
    with make(GateSetup(instance=old)) as gate:
        before = gate.status().chain[0].baseline
        gate.change(old, is_restart=True)
        after = gate.status().chain[0].baseline

    assert (212.5e6, 287.5e6) == (before, after)
    assert [EventKind.RESTART] == [change.kind for change in gate.changes()]


def test_credits_are_granted_and_drained(make: Make):
    """By family; the record of changes has it in words."""
    with make() as gate:
        gate.set_balance(Family.INSTANCE_EBS_THROUGHPUT, 0.0)
        drained = gate.status().balance["instance_ebs_throughput"]
        gate.set_balance(Family.INSTANCE_EBS_THROUGHPUT, 1.0)
        granted = gate.status().balance["instance_ebs_throughput"]

    assert (0.0, 1.0) == (drained, granted)
    assert "balance of instance ebs throughput set to 0 %" == gate.changes()[0].text


@pytest.mark.parametrize(
    ("family", "ratio", "expected"),
    [
        (Family.VOLUME_THROUGHPUT, 0.5, "stage 'volume_throughput' has no credits here"),
        (Family.CPU, 0.5, "stage 'cpu' has no credits here"),
        (Family.VOLUME_IOPS, 1.5, "a balance of 1.5 is not possible"),
    ],
)
def test_credits_that_do_not_exist_are_refused(make: Make, family: Family, ratio: float, expected: str):
    """The hint names the stages that have some."""
    with make() as gate, pytest.raises(UsageError) as raised:
        gate.set_balance(family, ratio)

    assert raised.value.message == expected
    assert () == gate.changes()


@pytest.mark.parametrize(
    ("file", "text", "message", "hint"),
    [
        ("refuse", "error: the backing folder is full\nhint: Make room.\n", "the backing folder is full", "Make room."),
        ("mute", "", "it gave no reason", ""),
    ],
)
def test_a_daemon_that_does_not_start_is_quoted(make: Make, file: str, text: str, message: str, hint: str):
    """Its sentence and its hint; nothing is left."""
    gate = make()
    (gate.backing / file).write_text(text)
    with pytest.raises(SourceError) as raised:
        gate.__enter__()

    assert f"the gate did not start: {message}" == raised.value.message
    assert hint in raised.value.hint
    assert not gate.mount.exists()
    assert not gate.is_running


def test_a_daemon_that_was_killed_is_noticed(make: Make):
    """The sentence says that it has ended, the hint where the data is."""
    with make() as gate:
        os.kill(gate.daemon_pid, signal.SIGKILL)
        assert gate.wait(30)
        with pytest.raises(SourceError) as raised:
            gate.check()
        with pytest.raises(SourceError):
            gate.status()

    assert "the gate has ended: it was killed" == raised.value.message
    assert str(gate.backing) in raised.value.hint
    assert not gate.mount.exists()
    with pytest.raises(SourceError):
        gate.check()


def test_a_daemon_whose_keeper_was_killed_is_ended_all_the_same(make: Make):
    """The work of a keeper that was ended by force is left to its owner."""
    with make() as gate:
        gate._keeper.kill()
        gate.wait(30)

    assert ended(gate.daemon_pid)


@pytest.mark.parametrize(
    ("data", "mount", "says"),
    [
        # A file system that shows itself has no end.
        *((data, "disk", "lie within each other") for data in ("disk/data", "disk", ".")),
        # What is in the folder would vanish under the mount.
        ("data", "full", "is not empty"),
        # With the system's own reason.
        ("data", "file", "': not a directory"),
    ],
)
def test_a_mount_that_cannot_be_is_refused(make: Make, tmp_path: Path, data: str, mount: str, says: str):
    (tmp_path / "file").touch()
    (tmp_path / "full").mkdir()
    (tmp_path / "full/letter").touch()
    with pytest.raises(UsageError) as raised, Gate(AT_60, tmp_path / data, tmp_path / mount):
        pass

    assert says in raised.value.message
    assert (tmp_path / "full/letter").exists()


def test_a_gate_that_was_not_started_says_so(make: Make):
    """There is nothing to ask."""
    with pytest.raises(SourceError, match="was not started"):
        make().status()


def test_another_process_finds_the_only_gate(make: Make):
    """By itself, by its folder, or by its socket."""
    with make() as gate:
        for place in (None, gate.folder, gate.socket_path):
            assert gate.folder == find_gate(place).folder
        home = find_gate(None).home

    assert (str(gate.mount), os.getpid(), AT_60) == (home.mount, home.owner_pid, home.setup)
    with pytest.raises(SourceError, match="this account has no running gate"):
        find_gate(None)
    with pytest.raises(SourceError):
        find_gate(gate.folder / "elsewhere" / "gate.sock")


def test_with_several_gates_one_must_be_chosen(make: Make, tmp_path: Path):
    """The hint lists their sockets."""
    other = Gate(AT_60, tmp_path / "data2", tmp_path / "disk2")
    with make() as gate, other, pytest.raises(UsageError) as raised:
        find_gate(None)

    assert "2 gates run here" == raised.value.message
    assert str(gate.socket_path) in raised.value.hint
    assert str(other.socket_path) in raised.value.hint


def test_limits_of_a_file_give_way_to_a_class(make: Make):
    """A gate that was started with a chain of its own can become an instance."""
    own = parse_limits(b'{"chain": [{"name": "mine", "counts": "bytes", "baseline": 1e6}]}', "disk.json")
    setup = GateSetup(instance=Instance(), stages=own.stages, limits_name="disk.json")
    with make(setup) as gate:
        gate.change(T3)
        names = [stage.name for stage in gate.status().chain]

    assert "instance_ebs_throughput" == names[0]
    assert "class limits of disk.json → db.t3.xlarge" == gate.changes()[0].text


def test_the_last_minutes_cost_no_more_in_a_long_record(make: Make):
    """Of a record of an hour at clock 60 only the end is read, and its samples stay where they are."""
    with make() as gate:
        pass
    with gate.record_path.open("wb") as file:
        for record_line in lines(3600, balance={"instance_ebs_throughput": 0.5}):
            file.write(msgspec.json.encode(record_line) + b"\n")
    whole, last = (snapshot.series[Metric.READ_BYTES_PER_S] for snapshot in (gate.snapshot(), gate.last_minutes()))

    assert 3600 == whole.value.size
    assert 100 < last.value.size < 1200
    assert whole.time_s[-100:].tolist() == last.time_s[-100:].tolist()
    gate.record_path.write_bytes(b"")
    with pytest.raises(DataError):
        gate.last_minutes()


def test_an_answer_that_is_no_status_is_an_error():
    """Two versions that do not understand each other say so."""
    with pytest.raises(Exception, match="is not a status"):
        status_of({"balance": {}})


def test_a_question_that_is_none_is_answered_with_an_error(make: Make):
    """The daemon's own sentence and hint are passed on."""
    with make() as gate, pytest.raises(SourceError) as raised:
        GateControl(gate.folder).ask({"ask": "the way"})

    assert "the gate refused: this is no question" == raised.value.message
    assert "Ask for the status." == raised.value.hint
