"""Apply events from Kafka to the copy and index what changed, until Ctrl-C or SIGTERM. SIGUSR1 prints what each thread does."""

import argparse
import faulthandler
import signal
import threading

from search_service.indexer import run_indexer
from search_service.settings import Settings


def add(_parser: argparse.ArgumentParser) -> None:
    """Add no options: everything is a setting."""


def run(_arguments: argparse.Namespace, settings: Settings) -> int:
    """Run until a signal; what was begun is finished first."""
    stop = threading.Event()
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    run_indexer(settings, stop)
    return 0
