"""
Tell a page where it comes from: the version, the time, and the command line without its secrets.

Rule 1: the clock is read here and nowhere below; SOURCE_DATE_EPOCH takes its place, so that a page can be made
        again byte for byte.
Rule 2: a word that may hold a secret is shortened, even if it holds none.
"""

import re
from collections.abc import Iterable

from plimsoll import __version__
from plimsoll.app.moments import now_s
from plimsoll.cli.commands import given_arguments
from plimsoll.cli.next_command import PUBLIC_HEADERS
from plimsoll.model.shell import command_line
from plimsoll.reports.render.origin import PageOrigin

_HIDDEN = "***"
_BEGIN = re.compile(r"(?:--[\w-]+=)?(?:(?:prom:)?(?:https?|postgres(?:ql)?|pgbouncer|pgpool)://)?", re.IGNORECASE)
# `password=…` of a connection string or of a query: quoted, or up to the next space or `&`.
_NAMED = re.compile(
    r"([\w-]*(?:pass|pwd|secret|token|signature|credential|apikey|api_key)[\w-]*\s*=\s*)"
    r"('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|(?:\\.|[^\s&\\])*)",
    re.IGNORECASE,
)
# Names a file, which is read when the command runs.
_FILES = ("passfile", "password_file", "token_file", "password-file", "token-file")


def page_origin() -> PageOrigin:
    """Return what a page that is made now says of itself."""
    arguments = given_arguments.get()
    command = command_line(["plimsoll", *without_secrets(arguments)]) if arguments else ""
    return PageOrigin(version=__version__, made_s=now_s(), command=command)


def without_secrets(arguments: Iterable[str]) -> list[str]:
    """Return a command line with passwords, tokens and private headers replaced by `***`."""
    shown: list[str] = []
    for word in arguments:
        if shown and shown[-1] == "--header":
            shown.append(_header(word))
        elif word.startswith("--header="):
            shown.append(f"--header={_header(word.removeprefix('--header='))}")
        else:
            shown.append(_word(word))
    return shown


def _header(text: str) -> str:
    name, _, _ = text.partition(":")
    return text if name.strip().lower() in PUBLIC_HEADERS else f"{name}: {_HIDDEN}"


def _word(word: str) -> str:
    word = _NAMED.sub(
        lambda found: found[0] if found[1].rstrip("= ").lower() in _FILES else f"{found[1]}{_HIDDEN}", word
    )
    before, at, after = word.rpartition("@")
    if not at:
        return word
    # User and password stand before the last `@`: a password may contain another one.
    begin = _BEGIN.match(before)
    return f"{begin[0] if begin else ''}{_HIDDEN}@{after}"
