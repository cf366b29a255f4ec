"""The printed command that compares the days around a step."""

import shlex

import typer

from plimsoll.cli.compare import register
from plimsoll.cli.next_command import check_command
from plimsoll.cli.targets import Reach
from plimsoll.cli.wire import InstanceFlags
from plimsoll.model.instance import Instance, Storage

NOW = Instance(db_class="db.t3.xlarge", storage=Storage(kind="gp2", size_gib=1200.0))


def test_it_says_what_a_source_no_longer_knows_after_the_step():
    """
    RDS describes an instance as it is, so class and storage of before are part of the command.
    """
    found = check_command("rds:claims", InstanceFlags(), Reach(region="eu-west-1"), NOW)

    assert (
        "plimsoll compare rds:claims --at MOMENT --class-a db.t3.xlarge --storage-a gp2 "
        "--size-gib-a 1200 --region eu-west-1"
    ) == found


def test_every_option_of_it_is_one_that_compare_has():
    """
    With a moment in place of MOMENT it runs as it was printed.
    """
    storage = Storage(kind="gp3", size_gib=400.0, provisioned_ops_per_s=12_000.0)
    instance = Instance(db_class="db.r5.large", storage=storage)
    reach = Reach(last="14d", profile="ops", match=("a=b",), max_api_calls=50)
    found = check_command("prom:http://host", InstanceFlags(engine="postgres"), reach, instance)
    app = typer.Typer()
    register(app)
    parsed = typer.main.get_command(app).make_context("compare", shlex.split(found)[2:])

    assert ("MOMENT", "db.r5.large", 12_000.0) == tuple(
        parsed.params[name] for name in ("at", "class_a", "iops_a")
    )


def test_nothing_is_printed_for_a_file_or_with_a_secret():
    """
    A file does not grow after the step, and what was typed as a secret is not repeated.
    """
    secret = Reach(headers=("Authorization:Bearer x",))

    assert "" == check_command("snapshot.json", InstanceFlags(), Reach(), NOW)
    assert "" == check_command("prom:http://host", InstanceFlags(), secret, NOW)
