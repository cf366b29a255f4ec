"""Serve the REST API on loopback until Ctrl-C or SIGTERM."""

import argparse
import socket

import uvicorn

from search_service.api.app import application
from search_service.api.limits import Protocol
from search_service.errors import SettingsError
from search_service.settings import Settings

HOST = "127.0.0.1"


def add(_parser: argparse.ArgumentParser) -> None:
    """Add no options: everything is a setting."""


def run(_arguments: argparse.Namespace, settings: Settings) -> int:
    """
    Serve; requests that were begun are finished first.

    Raises:
        SettingsError: there is no token, or the port is taken.
    """
    if not settings.tokens:
        raise SettingsError(
            "SEARCH_API_TOKENS has no token, so nobody could search",
            "Set it to one or more secrets, separated by commas.",
        )
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((HOST, settings.api_port))
        except OSError as error:
            raise SettingsError(
                f"SEARCH_API_PORT is {settings.api_port}, which cannot be used: {error.strerror}", "Give another port."
            ) from None
        config = uvicorn.Config(
            application(settings), http=Protocol, log_level="warning", server_header=False, timeout_graceful_shutdown=10
        )
        uvicorn.Server(config).run([listening])
    return 0
