"""Errors that end a command with one sentence and status 2."""


class ServiceError(Exception):
    """What went wrong, as one sentence, and what to do about it."""

    def __init__(self, sentence: str, hint: str = "") -> None:
        """Keep the sentence and the hint; the hint is empty if there is nothing to do."""
        super().__init__(sentence)
        self.sentence = sentence
        self.hint = hint


class SettingsError(ServiceError):
    """A setting is missing or cannot be used."""


class UnavailableError(ServiceError):
    """A server that the service needs does not answer."""


class RefusedError(ServiceError):
    """The database refuses what was written for good; the same again would be refused too."""
