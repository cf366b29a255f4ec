"""
Print a change of settings as the platform of the server takes it; nothing else knows the platforms.

Rule 1: a detector names settings with values as PostgreSQL writes them (`4096MB`); `placed` makes commands.
Rule 2: what is given with --against says more than the server: then the platform is that of the instance.
Rule 3: parameter groups, flags and server parameters take numbers in the unit of pg_settings.
Rule 4: a word in capitals is a placeholder, and the text says so. Cloud SQL and AlloyDB set every flag that
        is left out of the command to its default, so the present ones stand in it.
"""

import re
from collections.abc import Callable, Mapping

from msgspec import UNSET, Struct
from msgspec.structs import replace

from plimsoll.model.cause import Cause, Remedy
from plimsoll.model.database import ServerInfo
from plimsoll.model.instance import Instance, engine_family
from plimsoll.model.platform import Platform
from plimsoll.model.shell import command_line

_BYTES = {"kB": 1, "MB": 1024, "GB": 1024**2, "TB": 1024**3}
_TIMES = {"ms": 1, "s": 1000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}
_AMOUNT = re.compile(r"(-?\d+)\s*(kB|MB|GB|TB|ms|s|min|h|d)")


class KnownSetting(Struct, frozen=True):
    """A setting that remedies change."""

    unit: str = ""
    """As in `pg_settings.unit`."""
    needs_restart: bool = False
    is_of_checkpoints: bool = False
    """Whether it is for checkpoints, or for WAL of whole pages."""


KNOWN_SETTINGS: Mapping[str, KnownSetting] = {
    "autovacuum": KnownSetting(),
    "checkpoint_completion_target": KnownSetting(is_of_checkpoints=True),
    "checkpoint_timeout": KnownSetting("s", is_of_checkpoints=True),
    "client_connection_check_interval": KnownSetting("ms"),
    "idle_in_transaction_session_timeout": KnownSetting("ms"),
    "log_autovacuum_min_duration": KnownSetting("ms"),
    "log_disconnections": KnownSetting(),
    "log_temp_files": KnownSetting("kB"),
    "logical_decoding_work_mem": KnownSetting("kB"),
    "max_prepared_transactions": KnownSetting(needs_restart=True),
    "max_slot_wal_keep_size": KnownSetting("MB"),
    "max_wal_size": KnownSetting("MB", is_of_checkpoints=True),
    "track_counts": KnownSetting(),
    "wal_compression": KnownSetting(is_of_checkpoints=True),
}

# Their storage takes WAL, never pages: there are no checkpoints to configure (AWS, "Aurora storage"; Google,
# "AlloyDB overview", read 2026-11).
_WITHOUT_CHECKPOINTS = (Platform.AURORA, Platform.ALLOYDB)


class ServerPlace(Struct, frozen=True, kw_only=True):
    """Where a server runs, and what is known of it there."""

    platform: Platform = Platform.PLAIN
    instance: str = ""
    """DBInstanceIdentifier; empty if unknown."""
    cluster: str = ""
    """DBClusterIdentifier; empty if unknown."""
    region: str = ""


def place_of(server: ServerInfo, instance: Instance | None) -> ServerPlace:
    """Return where a server runs; `instance` is what it was compared with, None if nothing was given."""
    if instance is None or instance.db_class is None:
        known = server.platform in Platform.__members__.values()
        return ServerPlace(platform=Platform(server.platform) if known else Platform.OTHER)
    platform = Platform.RDS
    if engine_family(instance.engine) == "aurora":
        platform = Platform.AURORA
    elif instance.cluster is not UNSET:
        platform = Platform.RDS_CLUSTER
    return ServerPlace(
        platform=platform,
        instance=instance.identifier,
        cluster=instance.cluster if instance.cluster is not UNSET else "",
        region=instance.region or "",
    )


def in_place(cause: Cause, place: ServerPlace) -> Cause:
    """Return the cause with its changes of settings as commands of the platform."""
    remedies = (placed(remedy, place) for remedy in cause.remedies)
    return replace(cause, remedies=tuple(one for one in remedies if one is not None))


def placed(remedy: Remedy, place: ServerPlace) -> Remedy | None:
    """Return the remedy with commands for its settings; None if the platform has none of them."""
    settings = tuple(
        (name, value)
        for name, value in remedy.settings
        if place.platform not in _WITHOUT_CHECKPOINTS or not KNOWN_SETTINGS[name].is_of_checkpoints
    )
    if not remedy.settings:
        return remedy
    if not settings:
        return replace(remedy, settings=()) if remedy.commands else None
    needs_restart = any(KNOWN_SETTINGS[name].needs_restart for name, _ in settings)
    commands, told, restarted = _FORMS[place.platform](settings, place, needs_restart)
    told = f" {told}" if told else ""
    if needs_restart:
        told += f" {restarted}"
    return replace(remedy, text=f"{remedy.text}{told}", commands=(*remedy.commands, *commands), settings=())


_Settings = tuple[tuple[str, str], ...]
_Form = Callable[[_Settings, ServerPlace, bool], tuple[tuple[str, ...], str, str]]
"""Returns the commands, what must be known before, and when the change takes effect."""


def _plain(settings: _Settings, place: ServerPlace, needs_restart: bool) -> tuple[tuple[str, ...], str, str]:
    del place
    commands = [f"ALTER SYSTEM SET {_line(name, value)};" for name, value in settings]
    if not needs_restart:
        commands.append("SELECT pg_reload_conf();")
    return tuple(commands), "", "It takes effect when the server is restarted."


def _file(settings: _Settings, place: ServerPlace, needs_restart: bool) -> tuple[tuple[str, ...], str, str]:
    del needs_restart
    told = "Set it where the provider has settings of the server: ALTER SYSTEM is refused."
    if place.platform is Platform.FILE:
        told = (
            "Set it where the server's configuration is kept, and reload it: ALTER SYSTEM is switched off "
            "(allow_alter_system)."
        )
    lines = "\n".join(_line(name, value) for name, value in settings)
    return (lines,), told, "It takes effect when the server is restarted."


def _manifest(settings: _Settings, place: ServerPlace, needs_restart: bool) -> tuple[tuple[str, ...], str, str]:
    del place, needs_restart
    lines = ["spec:", "  postgresql:", "    parameters:"]
    lines += [f'      {name}: "{value}"' for name, value in settings]
    told = "Set it in the manifest of the Cluster, beside the parameters that are there; the operator applies it."
    return ("\n".join(lines),), told, "It restarts the server for that."


def _group(settings: _Settings, place: ServerPlace, needs_restart: bool) -> tuple[tuple[str, ...], str, str]:
    kind, noun = ("db", "db-instance") if place.platform is Platform.RDS else ("db-cluster",) * 2
    region = ("--region", place.region) if place.region else ()
    which, query = "--db-instance-identifier", "DBInstances[0].DBParameterGroups"
    name = place.instance or "INSTANCE"
    if kind == "db-cluster":
        which, query = "--db-cluster-identifier", "DBClusters[0].DBClusterParameterGroup"
        name = place.cluster or "CLUSTER"
    apply = "pending-reboot" if needs_restart else "immediate"
    parameters = [
        f"ParameterName={setting},ParameterValue={_switch(_number(setting, value))},ApplyMethod={apply}"
        for setting, value in settings
    ]
    commands = (
        command_line(("aws", "rds", f"describe-{noun}s", which, name, "--query", query, *region)),
        command_line(
            (
                *("aws", "rds", f"modify-{kind}-parameter-group"),
                *(f"--{kind}-parameter-group-name", "PARAMETER-GROUP"),
                *("--parameters", *parameters),
                *region,
            )
        ),
    )
    told = (
        f"It is set in the parameter group of the {'cluster' if kind != 'db' else 'instance'}, which others may "
        "share. PARAMETER-GROUP stands for its name, which the first command prints"
        f"{_placeholders(name)}. A default group cannot be changed: assign one of your own first."
    )
    return commands, told, "It takes effect at the next reboot."


def _placeholders(name: str) -> str:
    return f", and {name} for yours" if name in ("INSTANCE", "CLUSTER") else ""


def _flags(settings: _Settings, place: ServerPlace, needs_restart: bool) -> tuple[tuple[str, ...], str, str]:
    del needs_restart
    product, verb, field, which = "sql", "patch", "settings.databaseFlags", ["INSTANCE"]
    if place.platform is Platform.ALLOYDB:
        product, verb, field = "alloydb", "update", "databaseFlags"
        which += ["--cluster=CLUSTER", "--region=REGION"]
    flags = ",".join(f"{name}={_number(name, value)}" for name, value in settings)
    commands = (
        command_line(("gcloud", product, "instances", "describe", *which, f"--format=json({field})")),
        command_line(("gcloud", product, "instances", verb, *which, f"--database-flags=PRESENT-FLAGS,{flags}")),
    )
    told = (
        "The command replaces all flags, so put those that the first one prints in place of PRESENT-FLAGS "
        "(NAME=VALUE, with commas), and your names in place of the other capitals."
    )
    return commands, told, "The instance is restarted for that."


def _azure(settings: _Settings, place: ServerPlace, needs_restart: bool) -> tuple[tuple[str, ...], str, str]:
    del place, needs_restart
    commands = tuple(
        command_line(
            (
                *("az", "postgres", "flexible-server", "parameter", "set"),
                *("--resource-group", "RESOURCE-GROUP", "--server-name", "SERVER"),
                *("--name", name, "--value", _number(name, value)),
            )
        )
        for name, value in settings
    )
    told = "RESOURCE-GROUP and SERVER stand for your names."
    return commands, told, "It takes effect when the server is restarted."


_FORMS: Mapping[Platform, _Form] = {
    Platform.PLAIN: _plain,
    Platform.FILE: _file,
    Platform.RDS: _group,
    Platform.RDS_CLUSTER: _group,
    Platform.AURORA: _group,
    Platform.CLOUD_SQL: _flags,
    Platform.ALLOYDB: _flags,
    Platform.AZURE: _azure,
    Platform.CLOUDNATIVE_PG: _manifest,
    Platform.OTHER: _file,
}


def _line(name: str, value: str) -> str:
    """Return `name = value` as postgresql.conf and ALTER SYSTEM take it."""
    is_bare = re.fullmatch(r"[a-z]\w*|-?\d+(?:\.\d+)?", value) is not None
    return f"{name} = {value}" if is_bare else f"{name} = '{value}'"


def _number(name: str, value: str) -> str:
    """Return a value in the unit of the setting, without it; a word or a plain number as it is."""
    match = _AMOUNT.fullmatch(value)
    if match is None:
        return value
    unit = KNOWN_SETTINGS[name].unit
    factors = _BYTES if match[2] in _BYTES else _TIMES
    return str(int(match[1]) * factors[match[2]] // factors[unit])


def _switch(value: str) -> str:
    """Return a switch as parameter groups take it."""
    return {"on": "1", "off": "0"}.get(value, value)
