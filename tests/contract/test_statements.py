"""Every statement sent to a server is in one folder, and one function connects to servers."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from contract.tree import SRC, both, nodes
from plimsoll.sources.postgres.statements import sweep, terms
from plimsoll.sources.postgres.statements.terms import Terms

ROOM = Path("sources/postgres/statements")
SESSION = Path("sources/postgres/session.py")

# Servers that Plimsoll has started itself, with nobody's data: the lab's. Of its sweep, only the experiment.
OWN_SERVERS = re.compile(r"lab/(?:experiments|servers|load|sessions)/|lab/sweep/experiment\.py")
# Files that execute statements on a file of their own, and on no server.
OWN_FILES = {
    Path("watch/ledger.py"): "the watch's ledger, in SQLite",
    Path("watch/history.py"): "the same, read-only, for the page",
    Path("watch/ledger_file.py"): "its tables and transactions",
}
# Files that connect without `open_session`, besides OWN_SERVERS.
CONNECTS = {
    SESSION: "open_session itself",
    Path("sources/postgres/refusal_code.py"): "attempts the refused connection again; sends nothing",
}

NEWEST = 180_000
# How a statement begins, as we write them: in small letters, but for SHOW of a pooler. Words alone would be
# English too, so what follows them counts.
BEGINS = re.compile(
    r"""\s*(?:
    select\s | with\s+(?:recursive\s+)?\w+\s+as\s | insert\s+into\s | update\s+\S+\s+set\s | delete\s+from\s
    | truncate\s | create\s+(?:\w+\s+){0,3}(?:table|schema|function|trigger|extension|index|role|view|database)\s
    | drop\s+(?:table|schema|function|trigger|extension|index|role|view|database)\s
    | alter\s+(?:table|system|role|database|schema)\s | vacuum\s*(?:\(|full|freeze|analyze|\{) | analyze\s+table\s
    | set\s+(?:local\s+|session\s+)?[\w.]+\s*(?:=|\sto\s) | show\s+(?:\w+|\{\})\s*$ | SHOW\s+[A-Z_]+\s*$
    | begin(?:\s+transaction\b|\s*;|\s*$) | start\s+transaction | rollback(?:\s+to\b|\s*;|\s*$)
    | savepoint\s | release\s+savepoint | lock\s+table\s | prepare\s+\S+\s+as | deallocate\s
    | execute\s+\S+$ | explain\s*\( | copy\s+\S+\s+(?:from|to)\s
    )""",
    re.VERBOSE,
)
# A piece of one, wherever it stands.
PIECE = re.compile(r"\bpg_catalog\.\w|^\s*(?:order by|group by|union all|left join|select)\s+[\w{(.]")
# A call of a function, and a cast, that the search_path would resolve.
CALL = re.compile(r"""(?<![\w.{}%"'])([a-z_]\w*)\s?\(""")
CAST = re.compile(r"::\s*(?!pg_catalog\.)([a-z_]\w*)")
# What the grammar resolves itself: syntax, and types of the SQL standard (PostgreSQL, gram.y).
SYNTAX = {
    "select",
    "from",
    "where",
    "and",
    "or",
    "not",
    "in",
    "any",
    "all",
    "array",
    "exists",
    "values",
    "row",
    "rows",
    "filter",
    "over",
    "as",
    "on",
    "join",
    "with",
    "w",
    "coalesce",
    "nullif",
    "greatest",
    "least",
    "extract",
    "lateral",
    "when",
    "then",
    "else",
    "case",
    "by",
    "explain",
    "ordinality",
    "key",
    "materialized",
    "distinct",
    "vacuum",
    "conflict",
}
TYPES = {"bigint", "int", "double", "boolean", "numeric", "real", "interval"}
CONNECTING = re.compile(r"(?:psycopg\.)?(?:(?:Async)?Connection\.|Session\.)?connect|(?:\w+\.)*PGconn\.connect\w*")
ASKS = {"execute", "executemany", "ask", "show"}


def others() -> Iterator[tuple[Path, ast.Module]]:
    """Files of both packages without those for servers of their own."""
    return ((path, tree) for path, _, tree in both() if not OWN_SERVERS.match(path.as_posix()))


def test_every_statement_is_in_its_folder():
    """No string of the package is SQL or a pooler command, except in that folder and for servers of the lab."""
    found = {
        f"{path}:{line}: {text[:60]}"
        for path, tree in others()
        if not path.is_relative_to(ROOM)
        for line, text in strings(tree)
        if is_statement(text)
    }

    assert set() == found


def test_functions_and_types_are_written_with_their_schema():
    """In every statement: what the path resolved could be another role's, whatever the path is set to."""
    found = {
        f"{path.stem}:{line}: {name}"
        for path in (SRC / ROOM).glob("*.py")
        for line, text in strings(ast.parse(path.read_text(encoding="utf-8")))
        for name in resolved_by_path(text)
    }

    assert set() == found


def test_a_name_without_its_schema_is_recognised():
    """A function, an aggregate behind a parenthesis, a type of a cast; no syntax and no parameter."""
    text = (
        "select (sum(a)), pg_catalog.count(*), b::text, c::pg_catalog.text, d::bigint, coalesce(e, %(f)s) "
        "from (values (1)) v (a, b) where g ~ '^pg_(temp)'"
    )

    assert {"sum", "text"} == resolved_by_path(text)


def test_nothing_is_sent_that_is_written_on_the_spot():
    """What is executed has a name: no call that sends a statement has a literal, whatever it says."""
    found = {
        f"{path}:{call.lineno}"
        for path, tree in others()
        # Prometheus is asked over HTTP, by paths.
        if path not in OWN_FILES and not path.is_relative_to("sources/prometheus")
        for call in sending(tree)
    }

    assert set() == found


def test_one_function_connects():
    """Only `open_session` makes a connection to somebody's server or pooler."""
    assert CONNECTS.keys() == {path for path, tree in others() if connects(tree)}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('a = "select 1"', True),
        ('a = f"set local work_mem = {x}"', True),
        ('a = b"drop table t"', True),
        ('a = "SHOW POOLS"', True),
        ('a = "order by c.oid"', True),
        ('a = f"left join {x} y"', True),
        ('a = "rollback"', True),
        ('a = f"{x} from pg_catalog.pg_class"', True),
        ('"""select the rows."""', False),
        ('a = "vacuum of the dead rows"', False),
        ('a = "SHOW POOLS has cl_waiting = 0."', False),
        ('a = "CREATE EXTENSION pg_stat_statements;"', False),
        ('a = "end"', False),
    ],
)
def test_a_statement_is_recognised(source: str, expected: bool):
    """In a string, a format and bytes, whole and in pieces; no docstring, sentence or command for people."""
    assert expected == any(is_statement(text) for _, text in strings(ast.parse(source)))


def test_a_literal_that_is_sent_is_recognised():
    """Behind `encode` and `format`, in an addition, and in the middle of other arguments."""
    tree = ast.parse(
        'c.execute("x")\nc.execute(f"{y}".encode())\nc.ask(A, "x" + y)\nc.execute("{}".format(y))\n'
        "c.execute(A, [1])\nc.ask(A.b, C(1))\nc.execute(f(x).encode())\n"
    )

    assert [1, 2, 3, 4] == sorted({call.lineno for call in sending(tree)})


def test_a_connection_is_recognised():
    """Of psycopg and of libpq, however it was imported."""
    for source in (
        "import psycopg\npsycopg.connect(d)",
        "from psycopg import connect",
        "psycopg.Connection.connect(d)",
        "Session.connect(d)",
        "PGconn.connect_start(d)",
    ):
        assert connects(ast.parse(source))
    assert not connects(ast.parse("open_session(d)\nself.connect()\nserver.connect()"))


@pytest.mark.parametrize("one", terms.ALL, ids=lambda one: one.statements[0])
def test_settings_come_before_statements(one: Terms):
    """Names are found in pg_catalog, policies do not run, and waiting has an end; only consoles know no settings."""
    if one is terms.CONSOLE:
        assert "" == one.guards(NEWEST)
        return

    word = "set" if one.is_of_session else "set local"
    guards = one.guards(NEWEST)
    assert guards.startswith(f"{word} search_path = pg_catalog, pg_temp; {word} row_security = off; ")
    for setting in ("statement_timeout", "lock_timeout", *terms.ANSWERS):
        assert f"; {word} {setting}" in guards
    assert "transaction_timeout = 0" in guards
    assert "transaction_timeout" not in one.guards(160_000)
    assert 0 < one.connect_s <= 5


def test_whoever_only_reads_says_so():
    """A transaction that is called read only is begun as one, or is of a session whose transactions are."""
    found = {one.statements[0]: one.access.startswith("read only") for one in terms.ALL if one.begin}

    assert found == {one.statements[0]: "read only" in one.begin for one in terms.ALL if one.begin}
    assert "set default_transaction_read_only = on" == sweep.READ_ONLY


def test_terms_are_kept_where_they_are_named():
    """A file that connects on terms of transactions guards each; none is only listed, and none is unlisted."""
    known = {name: value for name, value in vars(terms).items() if isinstance(value, Terms)}
    used: dict[str, Path] = {}
    for path, file, _ in both():
        text = file.read_text(encoding="utf-8")
        for name in re.findall(r"(?:open_session|connected)\([^()]*?\b([A-Z]{5,})\b", text):
            if path == SESSION:
                continue
            used[name] = path
            # `open_session` itself sends those of a session.
            assert (known[name] is terms.CONSOLE or known[name].is_of_session) or re.search(
                rf"\bopening_of\([^()]+, {name}\)|\b{name}\.(?:opening|guards)\(", text
            )

    assert known.keys() == used.keys()
    assert len(terms.ALL) == len(known)
    assert all(one in terms.ALL for one in known.values())


def test_every_file_of_the_room_belongs_to_a_conversation():
    """A topic that no terms name would be sent on terms that nobody stated."""
    files = {path.stem for path in (SRC / ROOM).glob("*.py")} - {"__init__", "terms"}

    assert files == {name for one in terms.ALL for name in one.statements}


def resolved_by_path(text: str) -> set[str]:
    """Functions and types of a statement that are written without a schema."""
    # Texts, and the names of columns that an alias gives.
    text = re.sub(r"'[^']*'", "''", text)
    text = re.sub(r"(?:\)|ordinality)\s+(?!filter|over)[a-z_]\w* \(", ") (", text)
    calls = {name for name in CALL.findall(text) if name not in SYNTAX}
    return calls | {name for name in CAST.findall(text) if name not in TYPES}


def is_statement(text: str) -> bool:
    """Whether a string is SQL, a piece of it, or a command of a pooler."""
    return bool(BEGINS.match(text) or PIECE.search(text))


def strings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and text of every string that is no docstring; `{}` stands for what a format puts in."""
    skipped: set[int] = set()
    for node in nodes(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            skipped.add(id(node.value))
        if isinstance(node, ast.JoinedStr):
            skipped |= {id(part) for part in node.values}
            yield (
                node.lineno,
                "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values),
            )
    for node in nodes(tree):
        if isinstance(node, ast.Constant) and id(node) not in skipped:
            if isinstance(node.value, str):
                yield node.lineno, node.value
            elif isinstance(node.value, bytes):
                yield node.lineno, node.value.decode("latin-1")


def sending(tree: ast.Module) -> Iterator[ast.Call]:
    """Calls that send a statement which is written as their argument."""
    for node in nodes(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in ASKS
            and any(_is_literal(argument) for argument in node.args)
        ):
            yield node


def _is_literal(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str | bytes)
    if isinstance(node, ast.BinOp):
        return _is_literal(node.left) or _is_literal(node.right)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr in ("encode", "format") and _is_literal(node.func.value)
    return isinstance(node, ast.JoinedStr)


def connects(tree: ast.Module) -> bool:
    """Whether a module makes a connection itself."""
    for node in nodes(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "psycopg":
            if any(alias.name in ("connect", "Connection") for alias in node.names):
                return True
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
            name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
            if name.startswith("connect") and CONNECTING.fullmatch(ast.unparse(node.func)):
                return True
    return False
