"""Errors that end a command with one sentence, a hint and status 2."""


class ServicesError(Exception):
    """What went wrong, as one sentence, and what to do about it."""

    def __init__(self, sentence: str, hint: str = "") -> None:
        """Keep the sentence and the hint; the hint is empty if there is nothing to do."""
        super().__init__(sentence)
        self.sentence = sentence
        self.hint = hint


class UsageError(ServicesError):
    """The caller asks for something that cannot be done."""


class UnavailableError(ServicesError):
    """A server or a program that the services need does not answer."""
