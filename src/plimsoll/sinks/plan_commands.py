"""
Shell lines that fit a page and are still the same command.

Rule: a line is broken between words only, and each line but the last ends with a backslash.
"""

import re
from collections.abc import Sequence
from textwrap import wrap

# Words of a shell line: quoted parts stay whole.
_SHELL_WORD = re.compile(r"(?:[^\s'\"\\]|\\.|'[^']*'|\"(?:[^\"\\]|\\.)*\")+")


def command_lines(command: str, width: int) -> list[str]:
    """
    A shell line broken between its words, each line but the last ending with a backslash.

    Args:
        command: words as a shell reads them, or a comment; what is neither is returned as it is.
        width: columns; a word that is longer stands whole on a line of its own.
    """
    found = _SHELL_WORD.findall(command)
    if command.startswith("#"):
        return wrap(command[1:].strip(), width, initial_indent="# ", subsequent_indent="# ")
    if "".join(found).replace(" ", "") != command.replace(" ", ""):
        return [command]
    lines = [""]
    for words in _together(found, width):
        # Two columns for the backslash.
        if not lines[-1] or len(lines[-1]) + 1 + len(words) + 2 <= width:
            lines[-1] = (
                f"{lines[-1]} {words}".lstrip() if len(lines) == 1 else f"{lines[-1]} {words}"
            )
        else:
            lines.append(f"  {words}")
    return [f"{line} \\" for line in lines[:-1]] + lines[-1:]


def _together(found: Sequence[str], width: int) -> list[str]:
    """An option with its value, where both fit on a line."""
    groups: list[str] = []
    for word in found:
        follows = bool(groups) and groups[-1].startswith("--") and not word.startswith("--")
        if follows and len(groups[-1]) + len(word) + 5 <= width:
            groups[-1] += f" {word}"
        else:
            groups.append(word)
    return groups
