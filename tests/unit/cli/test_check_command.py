"""The printed command that compares the days around a step."""

import shlex

import typer

from plimsoll.app.options import InstanceOptions, ReadOptions
from plimsoll.cli.compare.command import register
from plimsoll.cli.next_command import check_command
from plimsoll.model.instance import Instance, Storage

NOW = Instance(db_class="db.t3.xlarge", storage=Storage(kind="gp2", size_gib=1200.0))
NEW = Instance(db_class="db.m6g.xlarge", storage=NOW.storage)


def test_it_says_what_a_source_no_longer_knows_after_the_step():
    """RDS describes an instance as it is, so class and storage of before are part of the command."""
    found = check_command("rds:claims", InstanceOptions(), ReadOptions(region="eu-west-1"), before=NOW, after=NEW)

    assert (
        "plimsoll compare rds:claims --at MOMENT --class-a db.t3.xlarge --storage-a gp2 "
        "--size-gib-a 1200 --region eu-west-1"
    ) == found


def test_every_option_of_it_is_one_that_compare_has():
    """With a moment in place of MOMENT it runs as it was printed."""
    storage = Storage(kind="gp3", size_gib=400.0, provisioned_ops_per_s=12_000.0)
    instance = Instance(db_class="db.r5.large", storage=storage)
    read_options = ReadOptions(last="14d", profile="ops", match=("a=b",), max_api_calls=50)
    found = check_command(
        "prom:http://host", InstanceOptions(engine="postgres"), read_options, before=instance, after=NEW
    )
    app = typer.Typer()
    register(app)
    parsed = typer.main.get_command(app).make_context("compare", shlex.split(found)[2:])

    assert ("MOMENT", "db.r5.large", 12_000.0) == tuple(
        parsed.params[name] for name in ("at", "flags_a_db_class", "flags_a_iops")
    )


def test_a_file_is_compared_with_one_of_after_the_step():
    """What was typed of the present instance is said of both sides; what the file says is not repeated."""
    flags = InstanceOptions(db_class="db.t3.xlarge", engine="postgres", size_gib=1200.0)
    typed = check_command("my export.csv", flags, ReadOptions(region="eu-west-1"), before=NOW, after=NEW)
    found = check_command("snapshot.json", InstanceOptions(), ReadOptions(), before=NOW, after=NEW)

    assert (
        "plimsoll compare 'my export.csv' AFTER --class-a db.t3.xlarge --size-gib-a 1200 "
        "--class-b db.m6g.xlarge --size-gib-b 1200 --engine postgres"
    ) == typed
    assert "plimsoll compare snapshot.json AFTER" == found


def test_nothing_is_printed_with_a_secret_or_for_a_pipe():
    """What was typed as a secret is not repeated, and a pipe is read once."""
    secret = ReadOptions(headers=("Authorization:Bearer x",))

    assert "" == check_command("-", InstanceOptions(), ReadOptions(), before=NOW, after=NEW)
    assert "" == check_command("prom:http://host", InstanceOptions(), secret, before=NOW, after=NEW)
