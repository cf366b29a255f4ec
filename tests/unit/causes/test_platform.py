"""Settings are changed as the platform takes them: no ALTER SYSTEM where it is refused."""

import pytest
from msgspec.structs import replace

import database_stories
from databases import server
from plimsoll.causes.inspect import inspect
from plimsoll.causes.platform import KNOWN_SETTINGS, ServerPlace, place_of, placed
from plimsoll.model.cause import Remedy
from plimsoll.model.database import Observation
from plimsoll.model.instance import Instance
from plimsoll.model.platform import Platform, platform_of

RDS = Instance(identifier="orders", db_class="db.m5.large", engine="postgres", region="eu-west-1")


def commands(remedy: Remedy | None) -> list[str]:
    return [] if remedy is None else list(remedy.commands)


def remedy(*settings: tuple[str, str]) -> Remedy:
    return Remedy(text="Do it.", settings=settings)


@pytest.mark.parametrize("platform", Platform)
@pytest.mark.parametrize("name", KNOWN_SETTINGS)
def test_alter_system_is_printed_for_plain_servers_only(platform: Platform, name: str):
    """Every setting that a remedy changes, on every platform."""
    done = placed(remedy((name, "1")), ServerPlace(platform=platform))
    text = " ".join(commands(done))

    assert (platform is Platform.PLAIN) == ("ALTER SYSTEM" in text)
    assert (platform is Platform.PLAIN and not KNOWN_SETTINGS[name].needs_restart) == ("pg_reload_conf" in text)
    assert done is None or name in text


@pytest.mark.parametrize(
    ("setting", "value", "number"),
    [
        ("max_wal_size", "4GB", "4096"),
        ("max_wal_size", "4096MB", "4096"),
        ("checkpoint_timeout", "15min", "900"),
        ("idle_in_transaction_session_timeout", "60s", "60000"),
        ("client_connection_check_interval", "10s", "10000"),
        ("log_temp_files", "10MB", "10240"),
        ("logical_decoding_work_mem", "256MB", "262144"),
        ("log_autovacuum_min_duration", "0", "0"),
        ("checkpoint_completion_target", "0.9", "0.9"),
        ("max_slot_wal_keep_size", "8GB", "8192"),
    ],
)
def test_a_parameter_group_takes_base_units(setting: str, value: str, number: str):
    """Megabytes, seconds, milliseconds, kilobytes: as pg_settings.unit has them."""
    done = placed(remedy((setting, value)), ServerPlace(platform=Platform.RDS))

    assert f"ParameterName={setting},ParameterValue={number},ApplyMethod=immediate" in " ".join(commands(done))


def test_rds_is_asked_for_its_group_and_told_how():
    """The instance's name and region are known from --against; the group's name is a placeholder, and said to be."""
    where = place_of(server(), RDS)
    done = placed(remedy(("autovacuum", "on")), where)
    still = placed(remedy(("max_prepared_transactions", "0")), where)

    assert done is not None
    assert still is not None
    describe, modify = done.commands

    assert (
        "aws rds describe-db-instances --db-instance-identifier orders "
        "--query 'DBInstances[0].DBParameterGroups' --region eu-west-1"
    ) == describe
    assert (
        "aws rds modify-db-parameter-group --db-parameter-group-name PARAMETER-GROUP --parameters "
        "ParameterName=autovacuum,ParameterValue=1,ApplyMethod=immediate --region eu-west-1"
    ) == modify
    assert "PARAMETER-GROUP" in done.text
    assert "ApplyMethod=pending-reboot" in still.commands[-1]
    assert "reboot" in still.text


@pytest.mark.parametrize(
    ("platform", "start", "words"),
    [
        (Platform.RDS_CLUSTER, "aws rds modify-db-cluster-parameter-group", "cluster"),
        (Platform.AURORA, "aws rds modify-db-cluster-parameter-group", "cluster"),
        (Platform.CLOUD_SQL, "gcloud sql instances patch INSTANCE", "replaces"),
        (Platform.ALLOYDB, "gcloud alloydb instances update INSTANCE", "replaces"),
        (Platform.AZURE, "az postgres flexible-server parameter set", "SERVER"),
        (Platform.CLOUDNATIVE_PG, "spec:\n  postgresql:\n    parameters:\n", "manifest"),
        (Platform.OTHER, "log_disconnections = on", "provider"),
        (Platform.FILE, "log_disconnections = on", "allow_alter_system"),
    ],
)
def test_each_platform_has_its_form(platform: Platform, start: str, words: str):
    """The command that changes it, and what must be known before it is run."""
    done = placed(remedy(("log_disconnections", "on")), ServerPlace(platform=platform))

    assert done is not None
    assert done.commands[-1].startswith(start)
    assert words in done.text


def test_flags_are_never_replaced_by_the_new_one_alone():
    """Cloud SQL and AlloyDB set every flag that is left out to its default."""
    for platform in (Platform.CLOUD_SQL, Platform.ALLOYDB):
        done = placed(remedy(("log_disconnections", "on")), ServerPlace(platform=platform))
        assert "--database-flags=PRESENT-FLAGS,log_disconnections=on" in commands(done)[-1]
        assert " describe " in commands(done)[0]


def test_what_a_platform_has_not_is_not_advised():
    """Aurora's and AlloyDB's storage writes no checkpoints; the rest of the remedy stays."""
    for platform in (Platform.AURORA, Platform.ALLOYDB):
        where = ServerPlace(platform=platform)
        assert placed(remedy(("max_wal_size", "4GB"), ("checkpoint_timeout", "15min")), where) is None
        kept = placed(Remedy(text="x", commands=("SELECT 1;",)), where)
        assert ["SELECT 1;"] == commands(kept)


@pytest.mark.parametrize(
    ("marks", "platform"),
    [
        ((), Platform.PLAIN),
        (("rds",), Platform.RDS),
        (("rdsadmin",), Platform.RDS),
        (("rds", "aurora"), Platform.AURORA),
        (("cloudsql",), Platform.CLOUD_SQL),
        (("cloudsqladmin",), Platform.CLOUD_SQL),
        (("alloydb", "cloudsqladmin"), Platform.ALLOYDB),
        (("azure",), Platform.AZURE),
        (("azuresu",), Platform.AZURE),
        (("cnpg", "file"), Platform.CLOUDNATIVE_PG),
        (("neon",), Platform.OTHER),
        (("supabase_admin",), Platform.OTHER),
        (("file",), Platform.FILE),
    ],
)
def test_a_platform_is_known_by_its_marks(marks: tuple[str, ...], platform: Platform):
    """Settings, roles and functions that only it has; the narrower one wins."""
    assert platform == platform_of(marks)


@pytest.mark.parametrize(
    ("instance", "platform"),
    [
        (None, Platform.PLAIN),
        (Instance(identifier="box"), Platform.PLAIN),
        (RDS, Platform.RDS),
        (replace(RDS, engine="aurora-postgresql"), Platform.AURORA),
        (replace(RDS, cluster="c"), Platform.RDS_CLUSTER),
    ],
)
def test_the_target_says_what_the_server_does_not(instance: Instance | None, platform: Platform):
    """--against an instance of RDS; a host has no class."""
    assert platform == place_of(server(), instance).platform
    assert Platform.AZURE == place_of(server(platform="azure"), None).platform


STORIES = (database_stories.rewriting(), database_stories.piling_up())


@pytest.mark.parametrize("platform", Platform)
@pytest.mark.parametrize("story", STORIES)
def test_whole_reports_have_no_alter_system_elsewhere(story: Observation, platform: Platform):
    """Causes and gaps of both stories."""
    there = replace(story, server=replace(story.server, platform=platform))
    found = inspect(there)
    text = " ".join(
        [c for cause in found.causes for r in cause.remedies for c in (r.text, *r.commands)]
        + [gap.remedy for gap in found.missing]
    )

    assert platform is Platform.PLAIN or "ALTER SYSTEM SET" not in text
    assert not any(r.settings for cause in found.causes for r in cause.remedies)
