"""
The configuration of a watch: what to read, how often, what to say and to whom.

Rule 1: a key that does not exist is refused, not ignored.
Rule 2: a secret is named by `…_file` or `…_env`; no key contains one.
"""

import os
import re
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, get_args

import msgspec
from msgspec import Meta, Struct

from plimsoll.errors import UsageError
from plimsoll.watch.defaults import ADDRESS, LEDGER
from plimsoll.watch.delivery import Log
from plimsoll.watch.law.rulebook import RULES, RuleTables
from plimsoll.watch.law.schedule import PollSettings
from plimsoll.watch.receivers.receiver import Receiver
from plimsoll.watch.receivers.settings import ReceiverSettings, open_receiver
from plimsoll.watch.refusal import refusal
from plimsoll.watch.web_config import AccessByFile

_SEE = "'plimsoll watch example' prints a file with all keys."


class DatabaseSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where the DSN of one database is; it is inspected for the rule `cause`."""

    dsn_file: str = ""
    dsn_env: str = ""


class InspectionSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The table `[inspection]`: how often databases are inspected, and for how long."""

    interval_s: Annotated[int, Meta(ge=60, le=86_400)] = 900
    window_s: Annotated[int, Meta(ge=10, le=600)] = 60
    """Between the two readings of the counters."""


class TargetSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One table `[[targets]]`: what 'plimsoll diagnose' takes, and how to access it."""

    target: Annotated[str, Meta(min_length=1)]
    """`rds:NAME`, `rds:*`, `prom:URL`, or a file or folder of metrics."""
    account: str = ""
    """Name of the account in messages and keys; empty if there is one only."""
    region: str = ""
    profile: str = ""
    role: str = ""
    """ARN of an AWS role to assume first."""
    match: tuple[str, ...] = ()
    """Label selectors for Prometheus, `LABEL=VALUE`."""
    dsn_file: str = ""
    dsn_env: str = ""
    """Where the DSN of the database is, for a target that names one instance."""
    databases: dict[str, DatabaseSettings] = {}
    """The same by name of the instance, for a target that names several."""


class WebSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The table `[web]`: the HTTP server for the page, metrics, health and reload."""

    listen_address: str = ADDRESS
    """`HOST:PORT`; empty for none."""
    external_url: str = ""
    """Address by which people reach the page, for example `https://plimsoll.example`: links in messages use it."""
    config_file: str = ""
    """File with TLS, users and headers, in the form of Prometheus's exporter-toolkit; empty for none."""


class WatchSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole file."""

    targets: tuple[TargetSettings, ...]
    receivers: tuple[ReceiverSettings, ...] = ()
    rules: RuleTables = RuleTables()
    poll: PollSettings = PollSettings()
    web: WebSettings = WebSettings()
    inspection: InspectionSettings = InspectionSettings()
    ledger: str = LEDGER
    budget_usd_per_month: Annotated[float, Meta(gt=0)] | None = None
    """For requests to CloudWatch; what is left of it is spread over the rest of the calendar month."""
    runbook_base: str = ""
    """Beginning of the address of the pages on each rule, for example `https://wiki.example/runbooks/`."""


def read_settings(path: Path) -> WatchSettings:
    """
    Return the settings of a file.

    Raises:
        UsageError: it cannot be read, is not TOML, or says something that is not possible.
    """
    try:
        raw = tomllib.loads(path.read_bytes().decode())
    except OSError as error:
        raise UsageError(
            f"unable to read '{path}': {(error.strerror or str(error)).lower()}", "Give a file with --config."
        ) from error
    except UnicodeDecodeError as error:
        raise UsageError(f"'{path}' is not a text file in UTF-8", "Give a file with --config.") from error
    except ValueError as error:
        raise UsageError(f"'{path}' is not TOML: {str(error)[:1].lower()}{str(error)[1:]}", _SEE) from error
    try:
        settings = msgspec.convert(raw, WatchSettings)
    except msgspec.ValidationError as error:
        raise _refusal(path, error) from error
    check_settings(settings)
    return settings


def check_settings(settings: WatchSettings) -> None:
    """
    Refuse settings that contradict themselves.

    Raises:
        UsageError: no target, a target twice, a name twice, or a threshold on the wrong side of another.
    """
    if not settings.targets:
        raise UsageError("no target is given", 'Write [[targets]] with target = "rds:*".')
    named: set[tuple[str, str, str]] = set()
    for one in settings.targets:
        place = (one.target, one.account, one.region)
        if place in named:
            raise UsageError(f"the target '{one.target}' is given twice", "Give each its own account or region.")
        named.add(place)
    _check_url(settings.web.external_url)
    names = [receiver.name for receiver in settings.receivers]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"two receivers have the name '{name}'", "Give each its own name.")
    empty = settings.rules.time_to_empty
    if empty.nearing_minutes < empty.empty_minutes or empty.nearing_space_hours < empty.space_hours:
        raise UsageError(
            "rules.time-to-empty would be nearing later than bound",
            "Give nearing_minutes and nearing_space_hours that are the longer ones.",
        )
    headroom = settings.rules.headroom
    if headroom.days > headroom.of_days:
        raise UsageError(f"rules.headroom counts {headroom.days} of {headroom.of_days} days", "Give days ≤ of_days.")
    poll = settings.poll
    if not poll.urgent_interval_s <= poll.interval_s <= poll.far_interval_s <= poll.longest_interval_s:
        raise UsageError(
            "the intervals of [poll] are not in order",
            "Keep urgent_interval_s ≤ interval_s ≤ far_interval_s ≤ longest_interval_s.",
        )
    if settings.inspection.window_s > settings.inspection.interval_s:
        raise UsageError("inspection.window_s is longer than inspection.interval_s", "Give a shorter window_s.")
    if settings.web.listen_address:
        address_of(settings.web.listen_address)


def open_access(settings: WatchSettings, log: Log = lambda _event, **_fields: None) -> AccessByFile:
    """
    Return who may ask the HTTP server.

    Raises:
        UsageError: the file that says so cannot be used.
    """
    file = settings.web.config_file
    return AccessByFile(Path(file) if file else None, log=log)


def open_receivers(
    settings: WatchSettings,
    environment: Mapping[str, str] = os.environ,
    note: Callable[[str], None] = lambda _sentence: None,
) -> list[Receiver]:
    """
    Return the receivers of the settings; nothing is sent yet.

    Args:
        settings: with the tables of the receivers.
        environment: variables of the process, for secrets.
        note: called with a sentence about what did not work although a message was delivered.

    Raises:
        UsageError: a setting is wrong, or a secret cannot be read.
    """
    return [open_receiver(one, environment, note) for one in settings.receivers]


def _check_url(text: str) -> None:
    """
    Refuse an external address that no browser could open.

    Raises:
        UsageError: it is not `http://HOST` or `https://HOST`, optionally with a port and a path.
    """
    if text and not re.fullmatch(r"https?://(?:[\w.-]+|\[[0-9A-Fa-f:]+\])(?::\d{1,5})?(?:/[\w./~-]*)?", text):
        raise UsageError(
            f"web.external_url '{text[:60]}' is not an address",
            "Write it as https://plimsoll.example or http://HOST:PORT.",
        )


def address_of(text: str) -> tuple[str, int]:
    """
    Return host and port of `127.0.0.1:9780` or `[::1]:9780`.

    Raises:
        UsageError: not an address.
    """
    found = re.fullmatch(r"(?P<host>[\w.-]+|\[[0-9A-Fa-f:]+\]):(?P<port>\d{1,5})", text.strip())
    if found is None or int(found["port"]) > 65_535:
        raise UsageError(f"'{text[:60]}' is not an address", f"Write it as {ADDRESS}.")
    return found["host"].strip("[]"), int(found["port"])


def _refusal(path: Path, error: msgspec.ValidationError) -> UsageError:
    """Return msgspec's complaint in our words."""
    kinds = sorted(str(one.__struct_config__.tag) for one in get_args(ReceiverSettings))
    return refusal(
        path,
        error,
        [
            *(
                TargetSettings,
                DatabaseSettings,
                InspectionSettings,
                WebSettings,
                WatchSettings,
                PollSettings,
                RuleTables,
            ),
            *(type(RuleTables().of(rule)) for rule in RULES),
            *get_args(ReceiverSettings),
        ],
        see=_SEE,
        hints={"kind": f"The kinds are {', '.join(kinds)}."},
    )
