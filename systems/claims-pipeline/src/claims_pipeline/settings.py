"""
Settings of the pipeline: environment variables that begin with `CLAIMS_`, checked before anything starts.

Every setting is a field of `Settings`, in capital letters with the prefix: `database_url` is `CLAIMS_DATABASE_URL`.
Keys and the region of S3 are the variables of its own client: `AWS_ACCESS_KEY_ID`, `AWS_REGION` and so on.
"""

import os
from collections.abc import Mapping
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from claims_pipeline.errors import SettingsError

PREFIX = "CLAIMS_"

Url = Annotated[str, Meta(pattern=r"\Ahttps?://[^\s/]+/?\Z")]
SftpUrl = Annotated[str, Meta(pattern=r"\Asftp://[^\s/]+(/\S*)?\Z")]
Bucket = Annotated[str, Meta(pattern=r"\A[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]\Z")]


class Settings(Struct, frozen=True, kw_only=True):
    """What the pipeline is told; the defaults are those of one machine."""

    database_url: str = "postgresql://postgres@127.0.0.1:5432/postgres"
    """The database with the schema `claims`."""
    sftp_url: SftpUrl = "sftp://claims@127.0.0.1:2222/"
    """Server and folder with the deliveries, `sftp://user@host:port/folder`."""
    sftp_key: str = ""
    """File with our private key."""
    sftp_host_key: str = ""
    """The server's public key, a line as `known_hosts` has it after the host's name."""
    s3_endpoint: Url | None = None
    """Address of an S3 that is not AWS's; default: AWS's own."""
    s3_bucket: Bucket = "claims"
    """Bucket of raw and formatted files."""
    programs: str = ""
    """Folder with `claims-format` and `claims-fetch`; default: found on the PATH."""


def settings_of(environment: Mapping[str, str] = os.environ) -> Settings:
    """
    Return the settings that an environment gives.

    Raises:
        SettingsError: a value cannot be used, or a variable with our prefix is none of ours.
    """
    given = {name: value for name, value in environment.items() if name.startswith(PREFIX)}
    names = {PREFIX + field.upper(): field for field in Settings.__struct_fields__}
    if unknown := sorted(set(given) - set(names)):
        raise SettingsError(f"{unknown[0]} is no setting", f"The settings are {', '.join(names)}.")
    for name, value in given.items():
        try:
            msgspec.convert({names[name]: value}, Settings, strict=False)
        except msgspec.ValidationError as error:
            reason = str(error).rpartition(" - at ")[0] or str(error)
            raise SettingsError(f"{name} is '{value}', which cannot be used: {reason}") from None
    return msgspec.convert({names[n]: v for n, v in given.items()}, Settings, strict=False)
