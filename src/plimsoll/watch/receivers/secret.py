"""
Read secrets from files and environment variables, and never show them.

Rule 1: the configuration names where a secret is, and never contains it.
Rule 2: the text of a secret leaves this file only through `reveal`.
"""

import base64
from collections.abc import Iterable, Mapping
from pathlib import Path
from urllib.parse import quote

from plimsoll.errors import UsageError

# A judgement: tokens, addresses and passwords have below 4 KiB; a larger file is not a secret.
_FILE_BYTES_MAX = 65_536

# A judgement: shorter texts occur by chance in an answer, and hiding them would only garble it.
_HIDDEN_LENGTH_MIN = 4


class Secret:
    """A text that no log, error or representation contains."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        """Keep the text."""
        self._text = text

    def reveal(self) -> str:
        """Return the text, to be sent to where it belongs."""
        return self._text

    def __repr__(self) -> str:
        """Return a text that is the same for all secrets."""
        return "Secret(…)"


def read_secret(what: str, file: str, variable: str, environment: Mapping[str, str]) -> Secret:
    """
    Return the secret that one of two settings names.

    Args:
        what: name of the setting without its ending, for messages: `receiver 'team': token`.
        file: path of a file that contains only the secret; empty if not given.
        variable: name of an environment variable that contains it; empty if not given.
        environment: variables of the process.

    Raises:
        UsageError: neither or both are given, or what they name cannot be read, is empty, or has several lines.
    """
    if bool(file) == bool(variable):
        raise UsageError(
            f"{what}_file and {what.rpartition(' ')[2]}_env: exactly one of them is needed",
            "Name a file or an environment variable; the configuration itself never contains secrets.",
        )
    if file:
        text, place = _text_of(what, file), f"the file '{file}'"
    elif variable in environment:
        text, place = environment[variable], f"the environment variable '{variable}'"
    else:
        raise UsageError(
            f"{what}_env: the environment variable '{variable}' is not set",
            "Set it before plimsoll starts, or name a file instead.",
        )
    text = text.strip()
    if not text or not text.isprintable():
        problem = "contains nothing" if not text else "does not contain one line of text"
        raise UsageError(f"{what}: {place} {problem}", "Put only the secret there.")
    return Secret(text)


def is_in(secrets: Iterable[Secret], text: str) -> bool:
    """Return whether a text contains a secret as it is, percent-encoded, or in base64."""
    return any(
        form in text for secret in secrets for form in _forms(secret.reveal()) if len(form) >= _HIDDEN_LENGTH_MIN
    )


def _forms(text: str) -> set[str]:
    coded = base64.b64encode(text.encode()).decode()
    return {text, quote(text), quote(text, safe=""), coded, coded.rstrip("=")}


def _text_of(what: str, file: str) -> str:
    try:
        with Path(file).open("rb") as content:
            raw = content.read(_FILE_BYTES_MAX + 1)
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise UsageError(
            f"{what}_file: unable to read '{file}': {reason}",
            "Check the path, and that this account may read the file.",
        ) from None
    if len(raw) > _FILE_BYTES_MAX:
        raise UsageError(
            f"{what}_file: '{file}' has more than {_FILE_BYTES_MAX:,} bytes",
            "Name a file that contains only the secret.",
        )
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        raise UsageError(
            f"{what}_file: '{file}' is not text in UTF-8", "Name a file that contains only the secret."
        ) from None
