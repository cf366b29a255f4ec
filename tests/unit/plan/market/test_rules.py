"""How RDS makes a change, and the commands that order it."""

import shlex

import pytest
from msgspec.structs import replace

from plan_cases import claims
from plimsoll.catalog.load import catalog
from plimsoll.model.instance import Instance, Storage
from plimsoll.model.plan import Disruption
from plimsoll.plan.market.rules import commands_of, disruption_of, is_copied
from plimsoll.units import GIB, MIB


def to(before: Instance, **storage: object) -> Instance:
    return replace(before, storage=Storage(**storage))  # type: ignore[arg-type]


def commands(before: Instance, after: Instance, **asked: bool) -> tuple[str, ...]:
    return commands_of(before, after, catalog(), **asked)


def disruption(before: Instance, after: Instance, **asked: object) -> Disruption:
    return disruption_of(before, after, catalog(), **asked)  # type: ignore[arg-type]


SMALL = claims(storage=Storage(kind="gp2", size_gib=100))
PROVISIONED = Storage(kind="gp3", size_gib=2000, provisioned_ops_per_s=16_000, provisioned_bytes_per_s=750 * MIB)
AURORA = claims(engine="aurora-postgresql", db_class="db.r6g.large", storage=Storage(kind="aurora"))


@pytest.mark.parametrize(
    ("before", "after", "options"),
    [
        (claims(), claims(db_class="db.m6g.xlarge"), "--db-instance-class db.m6g.xlarge"),
        # RDS requires IOPS with the type: what was bought as included is ordered in numbers.
        (
            claims(),
            to(claims(), kind="gp3", size_gib=1200.0),
            "--storage-type gp3 --allocated-storage 1200 --iops 12000 --storage-throughput 500",
        ),
        # Below 400 GiB nothing can be provisioned for PostgreSQL.
        (SMALL, to(SMALL, kind="gp3", size_gib=100), "--storage-type gp3 --allocated-storage 100"),
        # One request: RDS takes a second change of storage only hours later.
        (
            claims(),
            claims(db_class="db.r6g.xlarge", storage=PROVISIONED),
            (
                "--db-instance-class db.r6g.xlarge --storage-type gp3 --allocated-storage 2000"
                " --iops 16000 --storage-throughput 750"
            ),
        ),
        (claims(), claims(multi_az=True, db_class="db.m6g.xlarge"), "--db-instance-class db.m6g.xlarge --multi-az"),
        # The storage of Aurora is the cluster's.
        (AURORA, replace(AURORA, db_class="db.r6g.xlarge"), "--db-instance-class db.r6g.xlarge"),
    ],
)
def test_a_change_is_one_line(before: Instance, after: Instance, options: str):
    """All that differs is ordered at once."""
    start = "aws rds modify-db-instance --db-instance-identifier claims --region us-east-1"

    assert (f"{start} {options} --apply-immediately",) == commands(before, after)


def test_where_nothing_is_to_be_ordered_there_is_no_line():
    """Nothing changed, or an instance of Aurora that would be stopped alone."""
    assert () == commands(claims(), claims()) == commands(AURORA, AURORA, is_restart=True)
    assert not disruption(claims(), claims()).is_restart


def test_a_standby_is_loaded_from_a_snapshot():
    """That is felt."""
    assert any("loaded from a snapshot" in note for note in disruption(claims(), claims(multi_az=True)).notes)


def test_a_restart_waits_for_the_stop():
    """An instance that still stops cannot be started: the second line asks until it has stopped."""
    lines = commands(claims(), claims(), is_restart=True)

    assert [line.split()[2] if line.startswith("aws") else line.split()[0] for line in lines] == [
        "stop-db-instance",
        "until",
        "start-db-instance",
        "wait",
    ]
    assert "= stopped ]; do sleep 30; done" in lines[1]


def test_sql_server_with_a_standby_cannot_be_stopped():
    """There is no command for it, and the text says what to do instead."""
    before = claims(engine="sqlserver-se", multi_az=True)

    assert commands(before, before, is_restart=True) == ()
    assert "RDS cannot stop SQL Server with a standby" in disruption(before, before, is_restart=True).text
    assert commands(replace(before, multi_az=False), before, is_restart=True) != ()


@pytest.mark.parametrize(
    "name", ["it's", "a b", "$(reboot)", "`id`", "x;rm -rf ~", 'a"b', "*", "a\\b", "-rf", "--region", "-x $(reboot)"]
)
def test_a_name_is_one_word_for_a_shell_whatever_is_in_it(name: str):
    """A POSIX shell reads the name back as it is, and nothing else."""
    before = claims(identifier=name)
    (line,) = commands(before, replace(before, db_class="db.m6g.xlarge"))
    words = shlex.split(line)

    if name.startswith("-"):
        assert f"--db-instance-identifier={name}" in words
    else:
        assert words[words.index("--db-instance-identifier") + 1] == name
    assert len(words) == (9 if name.startswith("-") else 10)


@pytest.mark.parametrize("name", ["unnamed", "", "a\nb", "\x1b[31mred"])
def test_a_name_that_is_not_known_or_not_shown_is_left_to_the_reader(name: str):
    """A variable stands in its place, so that no terminal obeys a name and nothing is ordered unnamed."""
    before = claims(identifier=name)
    (line,) = commands(before, replace(before, db_class="db.m6g.xlarge"))

    assert '--db-instance-identifier "$DB_INSTANCE"' in line
    assert line.isprintable()


def test_a_standby_turns_downtime_into_a_failover():
    """RDS documents 60 to 120 seconds for a failover and no time for a class change without a standby."""
    alone = disruption(claims(), claims(db_class="db.m6g.xlarge"))
    paired = disruption(claims(multi_az=True), claims(multi_az=True, db_class="db.m6g.xlarge"))

    assert alone.is_restart
    assert alone.text.startswith("The database is down while the class changes")
    assert paired.text.startswith("A failover to the standby, typically 60 to 120 s")
    assert alone.reversal == "Change the class back at any time, with the same interruption."


def test_past_400_gib_data_is_copied():
    """One volume becomes four: 250 GiB at 125 MiB/s are read in 34 minutes at least."""
    before = claims(storage=Storage(kind="gp3", size_gib=300))
    found = disruption(before, to(before, kind="gp3", size_gib=400.0), used_gib=250.0)

    assert found.moved_bytes == 250 * GIB
    assert "RDS creates 4 new volumes in place of 1 and copies 250 GiB" in found.text
    assert "at least 34 min at the old storage's limit" in found.text
    assert not found.is_restart
    assert found.optimising_s is None
    assert "Storage size cannot be reduced again." in found.reversal


@pytest.mark.parametrize(
    ("bought", "served_mib", "words"),
    [
        # 250 GiB at 250 MiB/s take 1,024 s and are a million reads of 256 KiB.
        ({"kind": "gp2"}, None, "at least 17 min at the old storage's limit; at least 1,024,000 reads of 256 KiB"),
        # Three times as long with a load that takes two thirds.
        ({"kind": "gp2"}, 250 * 2 / 3, "17 min at the old storage's limit, and 51 min while this load runs"),
        ({"kind": "gp2"}, 260, "this load leaves no capacity for it"),
        # 1,000 IOPS of 256 KiB are 250 MiB/s, half of what io1 gives otherwise.
        ({"kind": "io1", "provisioned_ops_per_s": 1000}, None, "at least 17 min at the old storage's limit"),
    ],
)
def test_a_copy_is_named_with_its_hours_and_its_io(bought: dict, served_mib: float | None, words: str):
    """As slow as what was bought, less what the load takes of it."""
    before = claims(storage=Storage(size_gib=399, **bought))
    served = {} if served_mib is None else {"served_bytes_per_s": served_mib * MIB}
    found = disruption(before, to(before, kind="gp3", size_gib=440.0), used_gib=250.0, **served)

    assert words in found.text
    assert served or "with what this load leaves" not in found.text
    assert found.optimising_s is None


@pytest.mark.parametrize(
    ("size_gib", "used_gib", "middle_h", "high_h"),
    [(200, 100, 0.5859375, 24), (1024, 1024, 1.5, 24), (40_960, 1, 6 / 4096, 60)],
)
def test_optimising_takes_as_long_as_ebs_publishes(size_gib, used_gib, middle_h, high_h):
    """
    Six hours for a full TiB of a volume, of which there are four from 400 GiB on, side by side; from a
    few minutes to more than a day.
    """
    before = claims(storage=Storage(kind="gp3", size_gib=size_gib))
    after = to(before, kind="io1", size_gib=size_gib, provisioned_ops_per_s=3000)

    found = disruption(before, after, used_gib=float(used_gib)).optimising_s

    assert (middle_h * 3600, high_h * 3600) == pytest.approx((found.middle, found.high))
    assert 0 < found.low == min(300, found.middle)


def test_how_long_storage_of_an_unknown_size_is_optimised_is_not_known():
    """Nor is anything optimised where only the class changes."""
    before = claims(storage=Storage(kind="gp2"))

    assert disruption(before, to(before, kind="gp3")).optimising_s is None
    assert disruption(claims(), claims(db_class="db.m6g.xlarge")).optimising_s is None


@pytest.mark.parametrize(
    ("engine", "before", "after", "moved_gib"),
    [
        ("oracle-ee", Storage(kind="gp3", size_gib=150), Storage(kind="gp3", size_gib=200.0), 150),
        ("oracle-ee", Storage(kind="gp3", size_gib=150), Storage(kind="gp3", size_gib=199.0), None),
        ("sqlserver-se", Storage(kind="gp3", size_gib=150), Storage(kind="gp3", size_gib=500.0), None),
        ("postgres", Storage(kind="gp2", size_gib=300), Storage(kind="gp2", size_gib=400.0), 300),
        # 1,200 GiB on one volume, as instances of old have: made larger in place it stays one.
        ("postgres", *(Storage(kind=kind, size_gib=1200, volume_count=1) for kind in ("gp2", "gp3")), None),
    ],
)
def test_data_is_copied_where_the_layout_changes(engine: str, before: Storage, after: Storage, moved_gib: int | None):
    """Each engine has its own; all that is allocated is moved where nobody knows how full it is."""
    was, will = (claims(engine=engine, storage=storage) for storage in (before, after))

    assert (moved_gib is not None) == is_copied(was, will, catalog())
    assert (None if moved_gib is None else moved_gib * GIB) == disruption(was, will).moved_bytes


def test_storage_changed_in_place_keeps_serving():
    """No downtime, hours of optimising without a documented end, and then four changes in 24 hours."""
    found = disruption(claims(), to(claims(), kind="gp3", size_gib=1200.0))

    assert not found.is_restart
    assert found.optimising_s is not None
    assert "changes in place without downtime" in found.text
    again = "Storage can change again once optimising has finished, at most 4 times in 24 h"
    assert any(note.startswith(again) for note in found.notes)
    assert not any("6 h" in text for text in (*found.notes, found.reversal))
    assert "Change storage type back once optimising has finished." in found.reversal
    assert "smaller" not in found.reversal


def test_leaving_magnetic_storage_restarts_and_copies():
    """RDS documents a brief downtime, and new volumes."""
    before = claims(storage=Storage(kind="standard", size_gib=300))
    found = disruption(before, to(before, kind="gp3", size_gib=300.0))

    assert found.is_restart
    assert found.moved_bytes == 300 * GIB


def test_other_processors_and_fewer_of_them_are_reported():
    """Graviton, fewer vCPUs, less memory, credits: each is a note."""
    before = claims(db_class="db.m5.2xlarge")
    notes = disruption(before, claims(db_class="db.t4g.large")).notes

    assert any("x86 to Graviton" in note for note in notes)
    assert "Fewer vCPUs: 2 instead of 8." in notes
    assert any(note.startswith("Less memory: 8 GiB instead of 32 GiB") for note in notes)
    assert any("RDS bills what exceeds that" in note for note in notes)
    assert disruption(before, claims(db_class="db.m6i.2xlarge")).notes == ()


def test_what_is_pending_is_named():
    """--apply-immediately applies it too, and a stop drops it."""
    before = claims(pending=("class db.r5.large",))

    assert any(
        "also applies the pending changes: class db.r5.large" in note
        for note in disruption(before, claims(db_class="db.m6g.xlarge")).notes
    )
    assert any("A stop drops the pending changes" in note for note in disruption(before, before, is_restart=True).notes)


def test_a_restart_is_down_and_needs_no_undoing():
    """From minutes to an hour to stop; read replicas stand in its way."""
    found = disruption(claims(), claims(), is_restart=True)

    assert found.is_restart
    assert "a reboot is not enough" in found.text
    assert found.reversal == "Nothing to undo."
    assert any("read replica" in note for note in found.notes)


@pytest.mark.parametrize(
    ("was", "will", "expected"),
    [
        ("db.r5.large", "db.r8g.large", "A change from db.r5 to db.r8g allows Database Savings Plans"),
        ("db.t3.xlarge", "db.m7i.xlarge", "A change from db.t3 to db.m7i allows Database Savings Plans"),
        ("db.m7g.large", "db.m6in.large", "A change from db.m7g to db.m6in excludes Database Savings Plans"),
        ("db.r5.large", "db.r6g.large", ""),
        ("db.m7g.large", "db.r8g.large", ""),
        ("db.x2g.large", "db.r8g.large", ""),
    ],
)
def test_a_change_of_generation_allows_or_excludes_savings_plans(was: str, will: str, expected: str):
    """They are sold from the 7th generation on; within either side nothing changes, and x counts its own."""
    notes = disruption(claims(db_class=was), claims(db_class=will)).notes
    found = [note for note in notes if "Savings Plans" in note]

    assert bool(expected) == bool(found)
    assert all(note.startswith(expected) for note in found)
