"""What people are sent during the published incident of the claims pipeline."""

from collections.abc import Callable
from pathlib import Path

import watched_incident
from scenes import Book


def test_the_messages_read_as_reviewed(tmp_path: Path, golden: Callable[[str, str], None]):
    """Nearing, bound, no credits for an hour, and the end of both: each is what was reviewed."""
    book = Book()
    watched_incident.watched(
        watched_incident.from_example(), watched_incident.settings_of(tmp_path / "l.db", "http://x/"), book
    )

    golden("watch/claims-pipeline.txt", watched_incident.shown(book.got))
