"""Where a page comes from: who made it, when, and with which command."""

from dataclasses import dataclass

from plimsoll.reports.render import words
from plimsoll.units import format_time


@dataclass(frozen=True, slots=True, kw_only=True)
class PageOrigin:
    """What a page says of itself; the edges know it, reports do not."""

    version: str
    """Of Plimsoll."""
    made_s: int
    """Epoch seconds."""
    command: str = ""
    """The command line, quoted for a shell and without secrets; empty if a program made the page."""

    @property
    def moment(self) -> str:
        """Return the time for people, in UTC."""
        return f"{words.moment(self.made_s)} UTC"

    @property
    def timestamp(self) -> str:
        """Return the time for programs, ISO 8601."""
        return format_time(self.made_s)
