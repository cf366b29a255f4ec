"""
A pooler's configuration file: `pgpool.conf` or `pgbouncer.ini`.

Rule 1: only what was set is kept; what a setting is otherwise, the catalog knows.
Rule 2: nothing that is or leads to a secret is kept: passwords, keys, files and queries of users.
Sources: Pgpool-II 4.3.5 manual, "Configuring Pgpool-II"; PgBouncer 1.18.0, config.md.
"""

import re
from pathlib import Path

from plimsoll.errors import DataError, SourceError, UsageError
from plimsoll.model.pooler import PooledDatabase, PoolerConfig

FILE_BYTES_MAX = 4_000_000
_INCLUDES_MAX = 10  # as PgBouncer itself allows
# Commands and queries of checks may hold a password in their text.
_SECRET = re.compile(r"pass|auth|secret|key|hash|user|command|check|conninfo|connect_query")
_NAME = re.compile(r"([A-Za-z_]\w*)\s*=?\s*")
_QUOTED = re.compile(r"'((?:[^'\\]|\\.|'')*)'")
_WORD = re.compile(r"(?<!\w)(\w+)\s*=\s*('(?:[^']|'')*'|\S*)")
_SECTIONS = ("[pgbouncer]", "[databases]", "[users]")


def read_pooler_config(
    path: Path, *, kind: str | None = None, version: str | None = None
) -> PoolerConfig:
    """
    Read a configuration file.

    Args:
        path: of `pgpool.conf`, `pgbouncer.ini` or however it is called.
        kind: `pgpool` or `pgbouncer`; None to tell by what stands in it.
        version: of the program, which the file does not say.

    Raises:
        UsageError: it cannot be told whose configuration it is.
        SourceError: it cannot be read.
        DataError: it is not text, or far too large.
    """
    text = _text(path)
    kind = kind or _kind(text, path)
    settings, databases = (
        _pgbouncer(text, path.parent, 0) if kind == "pgbouncer" else (_pgpool(text), [])
    )
    return PoolerConfig(
        kind=kind,
        place=path.name,
        version=version,
        settings=settings,
        databases=tuple(databases),
    )


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            raw = file.read(FILE_BYTES_MAX + 1)
        if len(raw) > FILE_BYTES_MAX:
            raise DataError(f"'{path}' is too large for a configuration", "Give the file itself.")
        return raw.decode("utf-8")
    except OSError as error:
        cause = (error.strerror or "it cannot be read").lower()
        raise SourceError(
            f"unable to read '{path}': {cause}", "Give a file that you may read."
        ) from error
    except UnicodeDecodeError as error:
        raise DataError(f"'{path}' is not text", "Give pgpool.conf or pgbouncer.ini.") from error


def _kind(text: str, path: Path) -> str:
    lines = [line.strip().lower() for line in text.splitlines()]
    if any(line in _SECTIONS for line in lines):
        return "pgbouncer"
    # Debian's pgpool.conf sets one line only; the rest of it are comments that name the settings.
    if any(re.match(r"#?\s*(num_init_children|backend_hostname\d|pcp_port)\s*=", x) for x in lines):
        return "pgpool"
    if any(re.match(r"(child_life_time|connection_life_time|max_pool)\s*=", x) for x in lines):
        return "pgpool"
    raise UsageError(
        f"cannot tell whose configuration '{path}' is",
        "Say it with --kind pgpool or --kind pgbouncer.",
    )


def _pgpool(text: str) -> dict[str, str]:
    settings: dict[str, str] = {}
    for line in text.splitlines():
        name = _NAME.match(line.strip())
        if name is None:
            continue
        rest = line.strip()[name.end() :]
        quoted = _QUOTED.match(rest)
        if quoted is not None:
            _keep(settings, name[1], quoted[1].replace("''", "'").replace("\\'", "'"))
        elif value := rest.partition("#")[0].strip():
            _keep(settings, name[1], value)
    return settings


def _pgbouncer(
    text: str, folder: Path, depth: int, section: str = ""
) -> tuple[dict[str, str], list[PooledDatabase]]:
    settings: dict[str, str] = {}
    databases: dict[str, PooledDatabase] = {}
    for raw in text.splitlines():
        line = raw.strip()
        if not line or line[0] in ";#":
            continue
        if line.startswith("%include") and depth < _INCLUDES_MAX:
            other = folder / line.removeprefix("%include").strip()
            more, also = _pgbouncer(_text(other), folder, depth + 1, section)
            settings |= more
            databases |= {database.name: database for database in also}
        elif line.startswith("["):
            section = line.lower()
        elif section in ("", "[pgbouncer]") and "=" in line:
            name, _, value = line.partition("=")
            _keep(settings, name.strip(), value.strip())
        elif section == "[databases]" and "=" in line:
            name, _, value = line.partition("=")
            database = _database(name.strip().strip('"'), value)
            databases[database.name] = database
    return settings, list(databases.values())


def _database(name: str, value: str) -> PooledDatabase:
    words = {key.lower(): _unquoted(word) for key, word in _WORD.findall(value)}
    return PooledDatabase(
        name=name,
        user=words.get("user"),
        size_max=_count(words.get("pool_size")),
        reserve=_count(words.get("reserve_pool_size") or words.get("reserve_pool")),
        mode=words.get("pool_mode"),
        servers_max=_count(words.get("max_db_connections")),
    )


def _keep(settings: dict[str, str], name: str, value: str) -> None:
    if not _SECRET.search(name.lower()) or name.lower() == "max_user_connections":
        settings[name.lower()] = value


def _unquoted(value: str) -> str:
    value = value.strip()
    if len(value) >= 2 and value[0] == value[-1] == "'":
        return value[1:-1].replace("''", "'")
    return value


def _count(text: str | None) -> int | None:
    return int(text) if text is not None and re.fullmatch(r"[0-9]{1,9}", text) else None
