"""Parts of a reading of a server that a caller may omit."""

from enum import StrEnum


class ReadingPart(StrEnum):
    """Parts that may be left out; counters of the whole server are always read."""

    RELATIONS = "relations"
    INDEXES = "indexes"
    COLUMNS = "columns"
    STATEMENTS = "statements"
    SESSIONS = "sessions"


EVERYTHING = frozenset(ReadingPart)
