"""Every command that connects to a database, as it is run against one; `{dsn}` and `{rows}` are filled in."""

from pathlib import Path

from contract.tree import ROOT

_CLAIMS = str(ROOT / "examples/claims-pipeline")
_BOUGHT = ("--class", "db.m6g.16xlarge", "--storage", "gp3", "--size-gib", "1000")
_SWEPT = ("--sizes", "64KiB", "--depth", "2", "--for-each", "1s", "--max-bytes", "64MiB")
_TABLE = "public.documents"
_TARGET = "public.target"
_STATEMENT = "select count(*), max(length(body)) from public.documents where id = 1"

COMMANDS: dict[str, tuple[str, ...]] = {
    "inspect": ("inspect", "{dsn}", "--for", "1s"),
    "inspect --decode-toast": ("inspect", "{dsn}", "--for", "1s", "--decode-toast", "1s"),
    "diagnose --dsn": ("diagnose", _CLAIMS, "--dsn", "{dsn}", "--for", "1s"),
    "pool-size --dsn": (*("pool-size", "--dsn", "{dsn}", "--for", "1s"), *("--services", "2", "--pool", "5")),
    "record host --dsn": ("record", "host", "--dsn", "{dsn}", "--for", "2s", "-o", "host.json"),
    "record host --inspect": (
        *("record", "host", "--dsn", "{dsn}", "--inspect", "--for", "2s", "-o", "inspected.json"),
    ),
    "explain record --statement": (*("explain", "record", "{dsn}", "--statement", _STATEMENT, "-o", "plans.json"),),
    "explain record --top": ("explain", "record", "{dsn}", "--top", "5", "-o", "top.json"),
    "prove toast": ("prove", "toast", "{dsn}"),
    "prove toast --table": ("prove", "toast", "{dsn}", "--table", _TABLE),
    "prove toast --decode": ("prove", "toast", "{dsn}", "--table", _TABLE, "--decode", "1s"),
    "sweep --dsn": ("sweep", "--dsn", "{dsn}", *_SWEPT),
    "sweep --dsn --allow-writes": ("sweep", "--dsn", "{dsn}", "--allow-writes", *_SWEPT),
    "pace --cat --dsn": ("pace", _CLAIMS, "--dsn", "{dsn}", "--cat"),
    "load": ("load", "{rows}", _TARGET, "--dsn", "{dsn}", *_BOUGHT),
    "load --commit-latency": (*("load", "{rows}", _TARGET, "--dsn", "{dsn}", *_BOUGHT, "--commit-latency", "2"),),
    "rehearse": ("rehearse", "{rows}", _TARGET, "--dsn", "{dsn}", *_BOUGHT),
}
"""All but `watch`, which does not end by itself."""

WATCH = "watch"
"""Its inspections, of which a test asks for one."""

HELD_ON = ("15", "18")
"""Versions on which the hostile database is put before each of them."""
_TRIGGERS = "event triggers of other roles would run with your rights"
REFUSED: dict[tuple[str, str], str] = {
    # Before 17 nobody can leave event triggers out.
    **{
        (command, "15"): _TRIGGERS
        for command in COMMANDS
        if command.startswith(("load", "rehearse"))
        or command in ("prove toast", "prove toast --table", "prove toast --decode")
    },
    **{(command, "15"): "reads block by block" for command in COMMANDS if "sweep" in command},
}
"""What is refused there with status 2, and words of the sentence; the rest does its work."""


def arguments_of(command: str, *, dsn: str, rows: Path) -> tuple[str, ...]:
    """The command line of one of `COMMANDS`."""
    given = {"{dsn}": dsn, "{rows}": str(rows)}
    return tuple(given.get(part, part) for part in COMMANDS[command])


def rows_in(folder: Path) -> Path:
    """A file for the table that is loaded: a number and a text."""
    file = folder / "rows.csv"
    file.write_text("".join(f"{n},some text {n}\n" for n in range(2000)))
    return file
