"""
Commands that people copy into a shell.

Rule 1: whatever is printed to be pasted is made here; nothing else imports shlex to write a command.
Rule 2: a name is one word, whatever its letters: it starts nothing, expands to nothing and ends nothing.
"""

import shlex
from collections.abc import Iterable


def shell_word(text: str) -> str:
    """
    Quote a text so that a POSIX shell passes it on as it is.

    A NUL cannot be passed on; it is left out.
    """
    return shlex.quote(text.replace("\0", ""))


def command_line(words: Iterable[str]) -> str:
    """Return the command of these words, each quoted where a shell would take it for more than a word."""
    return " ".join(shell_word(word) for word in words)
