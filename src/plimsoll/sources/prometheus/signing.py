"""
Requests to Amazon Managed Prometheus, signed with AWS Signature Version 4 for the service `aps`.

Credentials come from where the AWS tools find them: variables, profile, container or machine.
"""

from functools import lru_cache
from typing import Any

from plimsoll.errors import AccessDenied

SERVICE = "aps"


def signed(
    method: str, url: str, body: bytes, headers: dict[str, str], region: str
) -> dict[str, str]:
    """
    Return the headers with the signature among them.

    Args:
        method: `GET` or `POST`.
        url: whole address, its query encoded as it will be sent.
        body: as it will be sent; empty for GET.
        headers: what is to be signed along; `Host` follows from the address.
        region: such as `eu-west-1`.

    Raises:
        AccessDenied: no credentials on this machine.
    """
    from botocore.auth import SigV4Auth
    from botocore.awsrequest import AWSRequest

    request = AWSRequest(method=method, url=url, data=body, headers=headers)
    SigV4Auth(_credentials(), SERVICE, region).add_auth(request)
    return {str(name): str(value) for name, value in request.headers.items()}


@lru_cache(maxsize=1)
def _session() -> Any:
    from botocore.session import Session

    return Session()


def _credentials() -> Any:
    from botocore.exceptions import BotoCoreError

    try:
        found = _session().get_credentials()
        frozen = None if found is None else found.get_frozen_credentials()
    except BotoCoreError as error:
        raise AccessDenied(
            "unable to load AWS credentials for Amazon Managed Prometheus",
            "Check AWS_PROFILE and the files in ~/.aws, or log in with 'aws sso login'.",
        ) from error
    if frozen is None or not frozen.access_key:
        raise AccessDenied(
            "no AWS credentials for Amazon Managed Prometheus",
            "Set AWS_PROFILE or log in with 'aws sso login'; the role needs aps:QueryMetrics.",
        )
    return frozen
