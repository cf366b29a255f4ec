"""Assume a role: the session then has the credentials of the role, fetched when they are first needed."""

import re
from functools import partial
from typing import Any

from plimsoll.errors import AccessDenied, UsageError
from plimsoll.sources.values.shown import shown

_ROLE_ARN = re.compile(r"arn:aws[a-z-]*:iam::\d{12}:role/[\w+=,.@/-]+")
_SESSION_NAME = "plimsoll"


def assume_role(core: Any, role_arn: str, region: str) -> None:
    """
    Replace the credentials of botocore's session `core` with those of a role; no request is sent yet.

    The credentials that the session has now are those that assume the role. They are renewed when they expire.

    Raises:
        UsageError: the text has not the form of a role's ARN.
    """
    if _ROLE_ARN.fullmatch(role_arn) is None:
        raise UsageError(
            f"'{shown(role_arn)}' is not the ARN of a role", "Write it as arn:aws:iam::123456789012:role/plimsoll."
        )
    from botocore.credentials import DeferredRefreshableCredentials

    own = partial(core.get_component("credential_provider").load_credentials)
    core._credentials = DeferredRefreshableCredentials(  # noqa: SLF001 - botocore has no setter for these
        refresh_using=lambda: _fetched(core, own(), role_arn, region), method="assume-role"
    )


def _fetched(core: Any, source: Any, role_arn: str, region: str) -> Any:
    from botocore.credentials import AssumeRoleCredentialFetcher

    if source is None:
        raise AccessDenied(
            f"there are no AWS credentials to assume '{role_arn}' with",
            "Set them in the environment, a profile, or the role of the machine.",
        )
    fetcher = AssumeRoleCredentialFetcher(
        client_creator=partial(core.create_client, region_name=region),
        source_credentials=source,
        role_arn=role_arn,
        extra_args={"RoleSessionName": _SESSION_NAME},
    )
    return fetcher.fetch_credentials()
