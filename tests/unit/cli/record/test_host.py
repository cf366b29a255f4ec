"""How `record host` puts its parts together."""

from dataclasses import replace

import msgspec
import pytest

from plimsoll.app.options import InstanceOptions
from plimsoll.cli.record import host as record_host
from plimsoll.cli.record.command import HostOptions
from plimsoll.errors import UsageError
from plimsoll.sources.postgres.pg_stat import ServerFacts
from unit.sources.host.test_snapshot import SERVER as HERE
from unit.sources.host.test_snapshot import host

HOST = host(devices=("nvme1n1", "nvme2n1"))
FLAGS = HostOptions(every="1s")
SERVER = replace(
    HERE,
    place="db.example.com:5432/orders",
    data_directory="/var/lib/postgresql/18/main",
    sees_all_sessions=True,
    is_here=False,
)


class FakeProbe:
    """A database that says where it is."""

    def __init__(self, server: ServerFacts) -> None:
        self.server = server

    def open(self) -> ServerFacts:
        return self.server


@pytest.mark.parametrize(
    ("bought", "expected"),
    [
        # A host stands for itself: two recorded devices are two volumes.
        (InstanceOptions(), (None, 2, 100)),
        # The rule of a claimed storage says how many there are.
        (
            InstanceOptions(db_class="db.r5.2xlarge", storage="gp2", size_gib=1000, engine="postgres"),
            ("db.r5.2xlarge", None, 1000),
        ),
    ],
)
def test_a_claimed_class_brings_its_documented_volumes(bought, expected):
    """Processors and memory stay the host's."""
    found = record_host._instance(HOST, msgspec.structs.replace(FLAGS, bought=bought))

    assert expected == (found.db_class, found.storage.volume_count, found.storage.size_gib)
    assert (8, 2**35) == (found.vcpu_count, found.memory_bytes)


def test_a_database_elsewhere_is_refused():
    """Its transactions and this host's disk are not one story."""
    with pytest.raises(UsageError) as raised:
        record_host._open(FakeProbe(SERVER))

    assert "db.example.com:5432/orders" in raised.value.message
    assert record_host._open(FakeProbe(replace(SERVER, is_here=True))).is_here


@pytest.mark.parametrize(
    ("changes", "step_s", "duration_s"),
    [
        ({}, 1, 60),
        ({"every": "5m"}, 300, 300),
        ({"duration": "10m", "every": "10s"}, 10, 600),
        ({"command": ("sleep", "1")}, 1, None),
        ({"command": ("sleep", "1"), "duration": "30s"}, 1, 30),
    ],
)
def test_how_long_follows_from_time_and_command(changes, step_s: int, duration_s: int | None):
    """A minute by default, at least one step; with a command, until it ends unless a time is given."""
    plan = record_host._plan(msgspec.structs.replace(FLAGS, **changes))

    assert (step_s, duration_s) == (plan.step_s, plan.duration_s)
