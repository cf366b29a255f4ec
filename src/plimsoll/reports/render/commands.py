"""
Shell lines broken to fit a page without changing the command.

Rule: a line is broken between words only, and each line but the last ends with a backslash.
"""

import re
from collections.abc import Sequence
from textwrap import wrap

# Words of a shell line: quoted parts stay whole.
_SHELL_WORD = re.compile(r"(?:[^\s'\"\\]|\\.|'[^']*'|\"(?:[^\"\\]|\\.)*\")+")
_SINGLE_QUOTED = re.compile(r"'[^']*'")


def command_lines(command: str, width: int) -> list[str]:
    """
    Return a shell line broken between its words, each line but the last ending with a backslash.

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
    for word in _together(found, width):
        for part in _parts(word, width):
            # Two columns for the backslash.
            if not lines[-1]:
                lines[-1] = part
            elif len(lines[-1]) + 1 + len(part) + 2 <= width:
                lines[-1] += f" {part}"
            else:
                lines.append(f"  {part}")
    return [f"{line} \\" for line in lines[:-1]] + lines[-1:]


def _parts(word: str, width: int) -> list[str]:
    """
    Return the parts of a long word that is a command substitution, `"$(…)"`, split at its spaces.

    There a backslash at the end of a line joins it with the next, and an indent is only more space
    between words; in other quotes either would become part of the word.
    """
    is_output = word.startswith('"$(') and word.endswith(')"') and word.count('"') == 2
    is_safe = not any(" " in part for part in _SINGLE_QUOTED.findall(word))
    is_long = len(word) + 4 > width
    return word.split() if is_long and is_output and is_safe else [word]


def _together(found: Sequence[str], width: int) -> list[str]:
    """Return options joined with their values where both fit on a line."""
    groups: list[str] = []
    for word in found:
        follows = bool(groups) and groups[-1].startswith("--") and not word.startswith("--")
        if follows and len(groups[-1]) + len(word) + 5 <= width:
            groups[-1] += f" {word}"
        else:
            groups.append(word)
    return groups
