"""
Find credentials before any request is sent, and explain why there are none.

Rule: never repeat what another program printed, because it may contain keys.
"""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

from plimsoll.errors import AccessDenied, PlimsollError, UsageError
from plimsoll.sources.aws.failures import explained
from plimsoll.sources.aws.operations import Operation
from plimsoll.sources.values.shown import shown

_SHOWS = "Run 'aws sts get-caller-identity' with the same profile; it shows the cause."
_IDENTITY = "AWS_WEB_IDENTITY_TOKEN_FILE"
_TOKEN_HINT = (
    f"Check {_IDENTITY}; on EKS, check that the pod's service account has a role and that its token is mounted."
)
_TERMINAL = "/dev/tty"
_PROCESS_HINT = (
    "Run the program of credential_process by itself; it must print one JSON document with "
    "Version 1, AccessKeyId and SecretAccessKey."
)

# A judgement: some of these programs wait for a person who touches a security key or confirms in a
# browser, which takes half a minute. After twice that time nobody will answer, and a reading must end.
PROCESS_S = 60.0

_MFA = AccessDenied(
    "the AWS profile needs an MFA code, but there is no terminal to enter it",
    "Run the command in a terminal, or export temporary credentials from 'aws sts get-session-token'.",
)


class Credentials:
    """Credentials of one session, fetched once."""

    def __init__(self, core: Any) -> None:
        """Keep the session; fetch nothing yet."""
        self._core = core
        self._lock = threading.Lock()
        self._is_checked = False

    def check(self, operation: Operation, region: str) -> None:
        """
        Fetch the credentials before the first request; a person may have to enter a code.

        Args:
            operation: the request that needs them.

        Raises:
            AccessDenied: there are none, or they could not be fetched.
            SourceError: the service that issues them did not answer.
        """
        with self._lock:
            if self._is_checked:
                return
            try:
                for provider in getattr(self._core.get_component("credential_provider"), "providers", ()):
                    _bounded(provider)
                found = self._core.get_credentials()
                if found is not None:
                    found.get_frozen_credentials()
            except Exception as error:  # noqa: BLE001  any provider may raise anything
                raise self._explained(error, operation, region) from None
            self._is_checked = True

    def _explained(self, error: Exception, operation: Operation, region: str) -> PlimsollError:
        """Return the error for a failed fetch, by the kind of credentials that the configuration names."""
        if isinstance(error, PlimsollError):
            return error
        if isinstance(error, EOFError):
            return _MFA
        process = self._configured("credential_process")
        token_file = os.environ.get(_IDENTITY) or self._configured("web_identity_token_file")
        if isinstance(error, OSError) and token_file and error.filename == token_file:
            reason = (error.strerror or "it cannot be read").lower()
            return AccessDenied(
                f"the web identity token '{shown(token_file, 200)}' cannot be read: {reason}", _TOKEN_HINT
            )
        if process:
            found = _of_process(error)
            if found:
                return AccessDenied(f"the credential_process of the AWS profile {found}", _PROCESS_HINT)
        if isinstance(error, (OSError, ValueError, KeyError, TypeError, AttributeError)):
            return AccessDenied("the AWS credentials could not be fetched from the source in the profile", _SHOWS)
        return explained(error, operation, region, (region,))

    def _configured(self, name: str) -> str:
        try:
            return str(self._core.get_scoped_config().get(name) or "")
        except Exception:  # noqa: BLE001  a configuration that cannot be read has no such setting
            return ""


def _bounded(provider: Any) -> Any:
    """
    Let a provider of botocore, and those that it makes for the source of a role, neither wait for a program without
    end nor prompt for an MFA code where nobody can type it.
    """
    if hasattr(provider, "_popen"):
        provider._popen = _BoundedProcess  # noqa: SLF001
    if (ask := getattr(provider, "_prompter", None)) is not None:
        provider._prompter = partial(_asked, ask)  # noqa: SLF001
    if (builder := getattr(provider, "_profile_provider_builder", None)) is not None:
        made = builder.providers
        builder.providers = lambda *names, **options: [_bounded(one) for one in made(*names, **options)]
    return provider


class _BoundedProcess(subprocess.Popen[bytes]):
    """A program that is waited for no longer than `PROCESS_S`."""

    def communicate(self, *_: Any, **__: Any) -> tuple[bytes, bytes]:
        """
        Return what the program printed.

        Raises:
            AccessDenied: it did not end in time, and was ended.
        """
        try:
            return super().communicate(timeout=PROCESS_S)
        except subprocess.TimeoutExpired:
            with self:  # closes its pipes
                self.kill()
            raise AccessDenied(
                f"the credential_process of the AWS profile did not end in {PROCESS_S:g} s", _PROCESS_HINT
            ) from None


def _of_process(error: Exception) -> str:
    """Describe the failure of a credential_process; empty if it is not the cause."""
    if isinstance(error, (json.JSONDecodeError, UnicodeDecodeError)):
        return "printed no JSON"
    if isinstance(error, OSError):
        return f"could not be started: {(error.strerror or 'no reason given').lower()}"
    if getattr(error, "kwargs", {}).get("provider") != "custom-process":
        # botocore raises AttributeError for a JSON document that is not an object.
        return "printed JSON that is not an object" if isinstance(error, AttributeError) else ""
    message = str(error.kwargs.get("error_msg") or "")  # type: ignore[attr-defined]
    if message.startswith("Missing required key"):
        return "printed JSON that lacks AccessKeyId or SecretAccessKey"
    if message.startswith("Unsupported version"):
        return "printed JSON whose Version is not 1"
    return "failed"


def _asked(ask: Callable[[str], str], text: str) -> str:
    """
    Prompt for an MFA code, and return it.

    Raises:
        AccessDenied: there is no terminal.
    """
    try:
        with open(_TERMINAL):  # noqa: PTH123
            pass
    except OSError:
        if not sys.stdin.isatty():
            raise _MFA from None
    return str(ask(text))


def bad_endpoint(service: str) -> UsageError:
    """Return the error for a bad AWS endpoint; the address is not shown, because it may have a password."""
    name = next(
        (n for n in (f"AWS_ENDPOINT_URL_{service.upper()}", "AWS_ENDPOINT_URL") if os.environ.get(n)),
        "endpoint_url of the AWS configuration",
    )
    return UsageError(f"{name} is not a URL", "Write it as https://HOST or http://HOST:PORT, or unset it.")
