"""
Sign requests to Amazon Managed Prometheus with AWS Signature Version 4 for the service `aps`.

Credentials come from the same sources as for the AWS tools: variables, profile, container or machine.
"""

from functools import lru_cache
from typing import Any

from plimsoll.errors import AccessDenied

SERVICE = "aps"


def signed(method: str, url: str, body: bytes, headers: dict[str, str], region: str) -> dict[str, str]:
    """
    Return the headers with the signature added.

    Args:
        method: `GET` or `POST`.
        url: complete address, with the query encoded as it will be sent.
        body: body as it will be sent; empty for GET.
        headers: headers to sign; `Host` follows from the address.
        region: AWS region, for example `eu-west-1`.

    Raises:
        AccessDenied: this machine has no credentials.
    """
    from botocore.auth import SigV4Auth
    from botocore.awsrequest import AWSRequest

    request = AWSRequest(method=method, url=url, data=body, headers=headers)
    SigV4Auth(_credentials(), SERVICE, region).add_auth(request)
    return {str(name): str(value) for name, value in request.headers.items()}


@lru_cache(maxsize=1)
def _session() -> Any:
    from plimsoll.sources.files.bounded_session import BoundedSession

    return BoundedSession()


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
