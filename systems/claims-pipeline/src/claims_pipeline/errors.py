"""Errors that end a command with one sentence, a hint and status 2."""


class ClaimsError(Exception):
    """What went wrong, as one sentence, and what to do about it."""

    def __init__(self, sentence: str, hint: str = "") -> None:
        """Keep the sentence and the hint; the hint is empty if there is nothing to do."""
        super().__init__(sentence)
        self.sentence = sentence
        self.hint = hint


class UsageError(ClaimsError):
    """The command line asks for something that cannot be done."""


class SettingsError(ClaimsError):
    """A setting is missing or cannot be used."""


class UnavailableError(ClaimsError):
    """A server or a program that the pipeline needs does not answer."""


class DataError(ClaimsError):
    """A file or a manifest is not what it must be."""
