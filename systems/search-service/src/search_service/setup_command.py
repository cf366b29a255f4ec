"""Create the tables, the topics and the first index. What exists stays as it is."""

import argparse
import sys

from search_service.consume import create_topics
from search_service.database import connect, prepare
from search_service.engine import Engine
from search_service.generations import ensure_live
from search_service.settings import Settings

READY_S = 60.0


def add(_parser: argparse.ArgumentParser) -> None:
    """Add no options: everything is a setting."""


def run(_arguments: argparse.Namespace, settings: Settings) -> int:
    """Set up, and name the live index."""
    sys.stdout.write(f"{settings.alias} is {set_up(settings)}\n")
    return 0


def set_up(settings: Settings) -> str:
    """
    Create what is missing, and return the name of the live index.

    Raises:
        UnavailableError: a server does not answer.
    """
    database = connect(settings.database_url, size=1)
    try:
        with Engine(settings.engine_url) as engine:
            prepare(database)
            create_topics(settings)
            engine.wait_until_ready(READY_S)
            return ensure_live(database, engine, settings)
    finally:
        database.dispose()
