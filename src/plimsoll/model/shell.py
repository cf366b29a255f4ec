"""
Commands that people copy into a shell.

Rule 1: whatever is printed to be pasted is made here; nothing else imports shlex to write a command.
Rule 2: a name is one word, whatever its letters: it starts nothing, expands to nothing and ends nothing.
"""

import shlex
from collections.abc import Iterable


def shell_word(text: str) -> str:
    """
    Return a text quoted so that a POSIX shell passes it on unchanged.

    An argument cannot contain a NUL; it is removed.
    """
    return shlex.quote(text.replace("\0", ""))


def command_line(words: Iterable[str]) -> str:
    """Return a command line of these words, each quoted if a shell would not read it as one word."""
    return " ".join(shell_word(word) for word in words)
