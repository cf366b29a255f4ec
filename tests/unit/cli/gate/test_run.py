"""`plimsoll gate`: flags become a setup, orders become changes, and everything said has the clock in it."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from plimsoll.app.options import InstanceOptions
from plimsoll.kernel import Stage
from plimsoll.model.ceiling import Phase
from plimsoll.model.instance import Instance, Storage
from plimsoll_lab.cli.amounts import bytes_of
from plimsoll_lab.cli.gate import words as gate_words
from plimsoll_lab.cli.gate.ask import _balance
from plimsoll_lab.cli.gate.run import GateFlags, mount_until_ended, setup_of, truth_path
from plimsoll_lab.gate.config import GateSetup
from plimsoll_lab.gate.control import GateStatus
from plimsoll_lab.gate.record import truth_of
from unit.gate.gate_lines import held, line, lines

T3 = Instance(db_class="db.t3.xlarge", engine="postgres", storage=Storage(kind="gp2", size_gib=1000))
AT_60 = GateSetup(instance=T3, clock=60.0)
STATUS = GateStatus(
    balance={"instance_ebs_throughput": 0.63, "volume_throughput": None},
    read_bytes_per_s=300e6,
    write_bytes_per_s=47.5e6,
    read_ops_per_s=2400.0,
    write_ops_per_s=380.0,
    queue_depth=15.9,
    late_ratio=0.0,
    late_s_max=0.0,
    binding="instance_ebs_throughput",
    phase=Phase.BURST,
    chain=(
        Stage(name="instance_ebs_throughput", baseline=86.875e6, burst=347.5e6, capacity=469.125e9, counts="bytes"),
        Stage(name="volume_throughput", baseline=262_144_000, burst=262_144_000, counts="bytes", stripes=4),
    ),
    clock=60.0,
)


def flags(**given) -> GateFlags:
    usual = {
        "instance": InstanceOptions(db_class="db.t3.xlarge"),
        "clock": 1.0,
        "credits": 1.0,
        "memory": None,
        "legacy": None,
        "latency_ms": None,
        "limits": None,
        "mode": "fs",
        "backing": None,
        "mount": None,
        "metrics": None,
        "output": None,
    }
    return GateFlags(**(usual | given))


def test_flags_become_a_setup():
    """Every flag is found again, in seconds and bytes; the class is spelled as the catalog does."""
    setup = setup_of(
        flags(
            instance=InstanceOptions(db_class="t3.xlarge", engine="mysql", storage="gp3", size_gib=500, iops=13_000),
            clock=60.0,
            credits=0.2,
            memory="4GiB",
            latency_ms=1.5,
            mode="block",
        )
    )

    assert "db.t3.xlarge" == setup.instance.db_class
    assert ("mysql", "gp3", 500, 13_000) == (
        setup.instance.engine,
        setup.instance.storage.kind,
        setup.instance.storage.size_gib,
        setup.instance.storage.provisioned_ops_per_s,
    )
    assert (60.0, 0.2, 4 * 2**30, "block") == (*(setup.clock, setup.credits, setup.memory_bytes, setup.mode),)
    assert setup.latency is not None
    assert (0.0015, 0.0015) == (setup.latency.read_s, setup.latency.write_s)
    assert setup_of(flags(instance=InstanceOptions(db_class="db.r5.2xlarge"), legacy=True)).legacy
    # The number of volumes depends on the engine; most of our users run this one.
    assert "postgres" == setup_of(flags(instance=InstanceOptions(storage="gp2", size_gib=1000))).instance.engine
    assert None is setup_of(flags()).instance.engine


def test_limits_of_a_file_stand_alone(tmp_path: Path):
    """They take the place of class and storage, and their latency gives way to a flag."""
    path = tmp_path / "disk.json"
    path.write_text(
        '{"chain": [{"name": "mine", "counts": "bytes", "baseline": 1e6}],'
        ' "latency_s": {"read": 0.002, "write": 0.003}}'
    )
    alone = InstanceOptions()
    setup = setup_of(flags(instance=alone, limits=path))
    quicker = setup_of(flags(instance=alone, limits=path, latency_ms=0.5))

    assert ("limits of disk.json", 0.002) == (setup.name, setup.latency.read_s)
    assert 0.0005 == quicker.latency.read_s


@pytest.mark.parametrize(
    ("text", "amount"),
    [("4GiB", 2**32), ("512 MiB", 2**29), ("1.5gib", 3 * 2**29), ("1048576", 2**20), ("2TiB", 2**41)],
)
def test_amounts_of_memory_are_binary(text: str, amount: int):
    """As memory is sold; a bare number is bytes."""
    assert amount == bytes_of(text, "--memory")


def test_the_truth_lies_beside_the_snapshot():
    """Its name is that of the snapshot, packed or not."""
    assert Path("a/run.truth.json") == truth_path(Path("a/run.json"))
    assert Path("run.truth.json") == truth_path(Path("run.json.gz"))
    assert Path("run.truth.json") == truth_path(Path("run.JSON.GZ"))
    assert Path("run.truth.json") == truth_path(Path("run"))


def test_a_line_of_progress_has_both_times_and_a_forecast():
    """
    Real seconds and emulated ones, what is served, what binds, and when credits are gone. What does not fit
    a terminal is cut off, so that the line can be written over. A stage of one's own keeps its name.
    """
    assert (
        "42 s (42 min emulated): 347.5 MB/s, 2,780 IOPS, queue 15.9; "
        "instance EBS throughput, burst; byte 63 %, empty in 19 s"
    ) == gate_words.progress(STATUS, 42.0, 200)
    calm = replace(STATUS, binding=None, phase=None, clock=1.0, balance={})
    cut = gate_words.progress(STATUS, 42.0, 80)

    assert "42 s: 347.5 MB/s, 2,780 IOPS, queue 15.9" == gate_words.progress(calm, 42.0, 80)
    assert (79, "…") == (len(cut), cut[-1])
    assert "mine" == gate_words.stage_name("mine")


def test_a_status_is_a_small_table():
    """What is emulated, at which clock, and how it stands."""
    late = replace(STATUS, late_ratio=0.12, late_s_max=0.34)

    assert (
        "db.t3.xlarge, gp2, 1,000 GiB at /disk\n"
        "credit clock 60: one emulated minute is 1 s\n"
        "  served                           347.5 MB/s, 2,780 IOPS (reads 300 MB/s, writes 47.5 MB/s)\n"
        "  queue depth                      15.9\n"
        "  binds                            instance EBS throughput, burst, 347.5 MB/s\n"
        "  instance EBS throughput credits  63 %, empty in 19 s\n"
        "  this machine                     no operation was late\n"
    ) == gate_words.status_text(STATUS, AT_60, "/disk")
    assert "12 % of operations late, the worst 340 ms" in gate_words.status_text(late, AT_60, "/disk")


def test_what_a_run_hit_is_said_with_the_clock():
    """Limits, the longest first, what became of the credits, and whether the machine kept up."""
    name = "instance_ebs_throughput"
    record = [
        line(0, balance={name: 0.05}, binding=held(0.9, Phase.BURST)),
        line(1, balance={name: 0.0}, binding=held(1.0, Phase.BASELINE)),
        line(2, balance={name: 0.0}, binding=held(1.0, Phase.BASELINE)),
    ]
    text = gate_words.run_text(truth_of(record), AT_60)

    assert (
        "db.t3.xlarge, gp2, 1,000 GiB for 3.0 s, 3 min emulated (credit clock 60: one emulated "
        "minute is 1 s)\n"
        "  instance EBS throughput, baseline, made requests wait for 2.0 s\n"
        "  instance EBS throughput, burst, made requests wait for 0.9 s\n"
        "  instance EBS throughput credits 5.0 % after the first second, 0 % at the end, none left "
        "after 2.0 s\n"
        "This machine kept up: no operation was late.\n"
    ) == text


def test_a_run_that_hit_nothing_says_so():
    """Nothing is made up; real time is said too."""
    text = gate_words.run_text(truth_of(lines(2)), GateSetup(instance=T3))

    assert "no limit made requests wait" in text
    assert "(credit clock 1: in real time)" in text


@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("byte=0", ("instance_ebs_throughput", 0.0)),
        ("io=0.5", ("instance_ebs_iops", 0.5)),
        ("volume=1.0", ("volume_iops", 1.0)),
        ("mine=0.25", ("mine", 0.25)),
    ],
)
def test_balances_have_short_names(text: str, order: tuple[str, float]):
    """After the metrics that people know; a stage's own name does as well."""
    assert order == _balance(text)


@pytest.mark.parametrize("step", ["check_machine", "find_daemon", "clean_stale", "new_home"])
def test_a_signal_while_a_gate_starts_is_an_interruption(monkeypatch, tmp_path, step):
    """Whichever step it meets: nothing was mounted, so there is nothing to report."""

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    for name in ("check_machine", "find_daemon", "new_home"):
        monkeypatch.setattr(f"plimsoll_lab.gate.place.{name}", lambda: tmp_path)
    owner = "plimsoll_lab.gate.gate" if step == "clean_stale" else "plimsoll_lab.gate.place"
    monkeypatch.setattr(f"{owner}.{step}", interrupted)
    with pytest.raises(KeyboardInterrupt):
        mount_until_ended(flags(mount=tmp_path / "mount", output=tmp_path / "run.json"))

    assert not (tmp_path / "mount").exists()
    assert not (tmp_path / "run.json").exists()
