"""
Read a pooler's configuration file: `pgpool.conf` or `pgbouncer.ini`.

Rule 1: only settings in the file are kept; the catalog has the defaults.
Rule 2: nothing that is or leads to a secret is kept: passwords, keys, files and queries of users.
Rule 3: a relative include is read as its pooler reads it. For Pgpool-II (4.3 and later) this is the directory of
        the including file. For PgBouncer it is the directory in which it was started. That one is unknown, so try
        the directory of the configuration, then the current one. The last section of an included file continues
        after the include.
Sources: Pgpool-II 4.3.5 and 4.7 manual, "Managing Configuration File Contents"; PgBouncer 1.18.0 and 1.25,
config.md, "Section [users]", "Include directive"; libusual, cfparser.c (read 2026-11-20).
"""

import re
from pathlib import Path

from plimsoll.errors import DataError, UsageError
from plimsoll.model.pooler import PooledDatabase, PooledUser, PoolerConfig
from plimsoll.sources.files.opened import opened

# A judgement: thousands of databases have a line each; a larger file is not a configuration.
FILE_BYTES_MAX = 4_000_000
_INCLUDES_MAX = 10  # as both poolers allow
# Commands and queries of checks may hold a password in their text.
_SECRET = re.compile(r"pass|auth|secret|key|hash|user|command|check|conninfo|connect_query")
_NO_SECRET = ("max_user_connections", "max_user_client_connections")
_INCLUDE = re.compile(r"%include[ \t]+")
_NAME = re.compile(r"([A-Za-z_]\w*)\s*=?\s*")
_QUOTED = re.compile(r"'((?:[^'\\]|\\.|'')*)'")
_WORD = re.compile(r"(?<!\w)(\w+)\s*=\s*('(?:[^']|'')*'|\S*)")
_NAMES = {"pgbouncer": "PgBouncer", "pgpool": "Pgpool-II"}
# What no other program's file has, also none of PostgreSQL's own. The first that fits is the pooler.
_FORMS = {
    "pgbouncer": re.compile(
        r"^[ \t]*(?:\[(?:pgbouncer|databases|users|peers)\]|%include[ \t]"
        r"|(?:pool_mode|default_pool_size|(?:min|reserve)_pool_\w+|max_client_conn|max_(?:db|user)_\w+"
        r"|server_(?:reset|check|lifetime|idle|connect|login|round|fast|tls)\w*|query_(?:wait_)?timeout"
        r"|client_(?:idle|login)_timeout|idle_transaction_timeout|max_prepared_statements|listen_addr"
        r"|auth_(?:type|file|query|user|dbname|hba_file)|admin_users|stats_users|stats_period"
        r"|ignore_startup_parameters)[ \t]*=)",
        re.IGNORECASE | re.MULTILINE,
    ),
    # Debian's pgpool.conf sets one line only; the rest of it are comments that name the settings.
    "pgpool": re.compile(
        r"^[ \t]*(?:include\b|(?:#[ \t]*)?(?:num_init_children|max_pool|child_(?:life_time|max_connections)"
        r"|connection_(?:life_time|cache)|client_idle_limit\w*|serialize_accept|reset_query_list"
        r"|backend_(?:hostname|port|weight|flag|data_directory|application_name)\d+"
        r"|backend_clustering_mode|listen_backlog_multiplier|load_balance_mode|process_management_\w+"
        r"|enable_pool_hba|pool_passwd|pid_file_name|use_watchdog|failover_command|failback_command"
        r"|replication_mode|master_slave_mode|memory_cache_enabled"
        r"|(?:pcp|wd|sr_check|health_check|memqcache)_\w+)[ \t]*=)",
        re.IGNORECASE | re.MULTILINE,
    ),
}


def read_pooler_config(path: Path, *, kind: str | None = None, version: str | None = None) -> PoolerConfig:
    """
    Read a configuration file.

    Args:
        path: the file, for example `pgpool.conf` or `pgbouncer.ini`.
        kind: `pgpool` or `pgbouncer`; None to recognise it by its content. A file of another is refused.
        version: version of the pooler, which the file does not contain.

    Raises:
        UsageError: no setting of the pooler is in the file, or the pooler cannot be recognised.
        SourceError: the file cannot be read.
        DataError: the file is not text, or far too large.
    """
    text = _text(path)
    kind = _kind(text, path, kind)
    if kind == "pgpool":
        settings: dict[str, str] = {}
        _pgpool(text, path, settings, 0)
        return PoolerConfig(kind=kind, place=path.name, version=version, settings=settings)
    ini = _Ini(path.parent)
    ini.take(text, 0)
    return PoolerConfig(
        kind=kind,
        place=path.name,
        version=version,
        settings=ini.settings,
        databases=tuple(ini.databases.values()),
        users=tuple(ini.users.values()),
    )


def _text(path: Path) -> str:
    with opened(path) as file:
        raw = file.read(FILE_BYTES_MAX + 1)
    if len(raw) > FILE_BYTES_MAX:
        raise DataError(f"'{path}' is too large for a configuration", "Give the file itself.")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"'{path}' is not text", "Give pgpool.conf or pgbouncer.ini.") from error


def _kind(text: str, path: Path, wanted: str | None) -> str:
    """
    Return whose configuration a text is: the wanted one, if it is one at all.

    Raises:
        UsageError: it has no setting of the wanted pooler, or of any.
    """
    found = [kind for kind, form in _FORMS.items() if form.search(text)]
    if wanted is None and found:
        return found[0]
    if wanted in found:
        return str(wanted)
    if wanted is None:
        raise UsageError(
            f"cannot tell whose configuration '{path}' is", "Give the pgpool.conf or the pgbouncer.ini itself."
        )
    raise UsageError(
        f"'{path}' has no setting of {_NAMES[wanted]}",
        f"It is a configuration of {_NAMES[found[0]]}: leave out --kind."
        if found
        else "Give the pgpool.conf or the pgbouncer.ini itself.",
    )


def _included(path: Path, depth: int) -> str:
    """
    Return the text of an included file.

    Raises:
        DataError: files include each other endlessly.
        SourceError: the file cannot be read.
    """
    if depth >= _INCLUDES_MAX:
        raise DataError(
            f"'{path}' is included more than {_INCLUDES_MAX} files deep",
            "No pooler reads that. Check whether two files include each other.",
        )
    return _text(path)


def _pgpool(text: str, path: Path, settings: dict[str, str], depth: int) -> None:
    for line in text.splitlines():
        name = _NAME.match(line.strip())
        if name is None:
            continue
        rest = line.strip()[name.end() :]
        quoted = _QUOTED.match(rest)
        if quoted is not None:
            value = quoted[1].replace("''", "'").replace("\\'", "'")
        elif not (value := rest.partition("#")[0].strip()):
            continue
        if name[1] == "include":
            other = path.parent / value
            _pgpool(_included(other, depth), other, settings, depth + 1)
        else:
            _keep(settings, name[1], value)


class _Ini:
    """What PgBouncer's file and those that it includes say, in the order in which they say it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._section = ""
        self.settings: dict[str, str] = {}
        self.databases: dict[str, PooledDatabase] = {}
        self.users: dict[str, PooledUser] = {}

    def take(self, text: str, depth: int) -> None:
        for raw in text.splitlines():
            line = raw.strip()
            if not line or line[0] in ";#":
                continue
            if _INCLUDE.match(line):
                other = self._place(_INCLUDE.sub("", line))
                self.take(_included(other, depth), depth + 1)
            elif line.startswith("["):
                self._section = line.partition("]")[0].lower() + "]"
            elif "=" in line:
                name, _, value = line.partition("=")
                self._keep(name.strip(), value.strip())

    def _place(self, name: str) -> Path:
        beside = self._folder / name
        ours = Path.cwd() / name
        return ours if ours.exists() and not beside.exists() else beside

    def _keep(self, name: str, value: str) -> None:
        if self._section in ("", "[pgbouncer]"):
            _keep(self.settings, name, value)
            return
        name = name.strip("\"'").replace('""', '"')
        if self._section == "[databases]":
            self.databases[name] = _database(name, value)
        elif self._section == "[users]":
            self.users[name] = _user(name, value)


def _database(name: str, value: str) -> PooledDatabase:
    words = _words(value)
    return PooledDatabase(
        name=name,
        user=words.get("user"),
        size_max=_count(words.get("pool_size")),
        size_min=_count(words.get("min_pool_size")),
        reserve=_count(words.get("reserve_pool_size") or words.get("reserve_pool")),
        mode=words.get("pool_mode"),
        servers_max=_count(words.get("max_db_connections")),
        server=_server(words),
    )


def _user(name: str, value: str) -> PooledUser:
    words = _words(value)
    return PooledUser(
        name=name,
        size_max=_count(words.get("pool_size")),
        reserve=_count(words.get("reserve_pool_size")),
        mode=words.get("pool_mode"),
        servers_max=_count(words.get("max_user_connections")),
    )


def _words(value: str) -> dict[str, str]:
    return {key.lower(): _unquoted(word) for key, word in _WORD.findall(value)}


def _server(words: dict[str, str]) -> str:
    return f"{words.get('host', '')}:{words.get('port', '5432')}"


def _keep(settings: dict[str, str], name: str, value: str) -> None:
    if not _SECRET.search(name.lower()) or name.lower() in _NO_SECRET:
        settings[name.lower()] = value


def _unquoted(value: str) -> str:
    value = value.strip()
    if len(value) >= 2 and value[0] == value[-1] == "'":
        return value[1:-1].replace("''", "'")
    return value


def _count(text: str | None) -> int | None:
    return int(text) if text is not None and re.fullmatch(r"[0-9]{1,9}", text) else None
