"""Inspect the databases of watched instances: open their DSNs, and weigh the causes of what was observed."""

import hashlib
import os
from collections.abc import Callable, Mapping

from plimsoll.app.inspect import inspect_for_diagnosis, observe
from plimsoll.app.targets import Files, Prometheus, Rds, target_of
from plimsoll.causes.unexplained import HOW_NOT_WHY
from plimsoll.errors import UsageError
from plimsoll.model.cause import Cause, CauseKind, Inspection
from plimsoll.model.database import Observation
from plimsoll.model.diagnosis import Diagnosis
from plimsoll.watch.config import TargetSettings, WatchSettings
from plimsoll.watch.law.load import InspectedLoad, LoadCause
from plimsoll.watch.receivers.secret import read_secret
from plimsoll.watch.targets import ObserveDatabase

# Causes of these kinds are about a statement, and their subject is its text.
_ABOUT_STATEMENTS = (CauseKind.PLANS, CauseKind.TEMPORARY_FILES)
# Enough to tell the statements of one server apart.
_DIGEST_LENGTH = 12


def databases_of(
    target: TargetSettings, settings: WatchSettings, environment: Mapping[str, str] = os.environ
) -> dict[str, ObserveDatabase]:
    """
    Return how to observe the databases of a target, by name of the instance; nothing is connected yet.

    Args:
        target: one of the configuration.
        settings: the whole configuration.
        environment: variables of the process, for secrets.

    Raises:
        UsageError: a DSN cannot be read or is none, or it is not clear whose it is.
    """
    named = {name: (one.dsn_file, one.dsn_env) for name, one in target.databases.items()}
    if target.dsn_file or target.dsn_env:
        named[_only_instance(target)] = (target.dsn_file, target.dsn_env)
    return {
        name: _observer(f"target '{target.target}': instance '{name}': dsn", place, settings, environment)
        for name, place in named.items()
    }


def load_of(observation: Observation, diagnosis: Diagnosis) -> InspectedLoad:
    """
    Return the load of an observed database and its causes, without the text of any statement.

    Args:
        observation: of the database.
        diagnosis: of its storage, for the ceiling.
    """
    if observation.full:
        return InspectedLoad(missing="accepts no more connections, so it was not inspected")
    found = inspect_for_diagnosis(diagnosis, observation)
    if found.reading_count < 2:
        return InspectedLoad(missing="could not be inspected: it was read only once")
    causes = [one for c in found.causes if (one := _load_cause(c)) is not None]
    causes.sort(key=lambda pair: (pair[0], -pair[1].share))
    return InspectedLoad(
        bytes_per_s=_bytes_per_s(found),
        causes=tuple(cause for _, cause in causes),
        window_s=found.end_s - found.start_s,
    )


def _only_instance(target: TargetSettings) -> str:
    match target_of(target.target):
        case Rds(is_pattern=False, name=name):
            return name
        case Rds():
            place = "names several instances"
        case Prometheus():
            place = "is a server"
        case Files():
            place = "is a file"
    raise UsageError(
        f"the target '{target.target}' {place}, and a DSN belongs to one instance",
        'Write [targets.databases."NAME"] with dsn_file or dsn_env for each.',
    )


def _observer(
    what: str, place: tuple[str, str], settings: WatchSettings, environment: Mapping[str, str]
) -> ObserveDatabase:
    from plimsoll.sources.postgres.pg_stat import is_connection_string

    def dsn() -> str:
        return read_secret(what, *place, environment).reveal()

    if not is_connection_string(dsn()):
        raise UsageError(
            f"{what} is not a PostgreSQL connection string",
            "Write it as 'host=… dbname=… user=…' or 'postgresql://user@host/dbname'.",
        )
    seconds = float(settings.inspection.window_s)

    def observed(sleep: Callable[[float], None]) -> Observation:
        # The file is read each time: passwords are exchanged while the watch runs.
        return observe(dsn(), seconds, sleep=sleep)

    return observed


def _bytes_per_s(found: Inspection) -> float | None:
    read, written = found.load_read_bytes_per_s, found.load_written_bytes_per_s
    return None if read is None or written is None else read + written


def _load_cause(cause: Cause) -> tuple[bool, LoadCause] | None:
    """Return a cause with a share, and whether it only says how bytes are written, not why."""
    if cause.share_of_load is None or cause.bytes_per_s is None:
        return None
    is_statement = cause.kind in _ABOUT_STATEMENTS
    subject = cause.subject
    if is_statement and subject:
        subject = hashlib.sha256(subject.encode()).hexdigest()[:_DIGEST_LENGTH]
    # Other evidence quotes statements; the number of one tells nothing but which it is.
    numbers = [e.text for e in cause.evidence if e.text.startswith("Query identifier ")]
    return cause.code in HOW_NOT_WHY, LoadCause(
        kind=cause.kind,
        subject=subject,
        is_named=not is_statement,
        share=cause.share_of_load,
        bytes_per_s=cause.bytes_per_s,
        is_small=cause.severity == "note",
        facts=tuple(text.rstrip(".") for text in (cause.title, cause.text, *numbers) if text),
        advice=_advice(cause),
    )


def _advice(cause: Cause) -> tuple[str, ...]:
    """Return the first remedy; code of several lines is left to the command that prints it."""
    if not cause.remedies:
        return ()
    first = cause.remedies[0]
    short = [command.strip() for command in first.commands if "\n" not in command.strip()]
    more = len(short) < len(first.commands) or len(cause.remedies) > 1
    rest = ("'plimsoll inspect DSN' prints all remedies, with code",) if more else ()
    return (first.text, *short, *rest)
