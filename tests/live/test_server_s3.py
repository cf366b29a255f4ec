"""The S3 store for real: a client puts and gets objects of several parts, and strangers are refused."""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import botocore.exceptions
import pytest
from boto3.s3.transfer import TransferConfig
from botocore.config import Config

from plimsoll_lab.servers.s3 import REGION, S3Store

PART_BYTES = 5 << 20


@pytest.fixture(scope="module")
def s3() -> Iterator[S3Store]:
    with S3Store() as running:
        yield running


def client(store: S3Store, secret: str | None = None) -> Any:
    return boto3.client(
        "s3",
        endpoint_url=store.address,
        region_name=REGION,
        aws_access_key_id=store.key,
        aws_secret_access_key=secret or store.secret,
        config=Config(s3={"addressing_style": "path"}, retries={"max_attempts": 1}),
    )


def test_an_object_of_several_parts_comes_back(s3: S3Store, tmp_path: Path):
    """Put in three parts, got whole and in a range, listed with its size."""
    content = os.urandom(2 * PART_BYTES + 7)
    (tmp_path / "claims").write_bytes(content)
    parts = TransferConfig(multipart_threshold=PART_BYTES, multipart_chunksize=PART_BYTES)
    lake = client(s3)
    lake.create_bucket(Bucket="lake")
    lake.upload_file(str(tmp_path / "claims"), "lake", "2024/claims", Config=parts)
    whole = lake.get_object(Bucket="lake", Key="2024/claims")["Body"].read()
    some = lake.get_object(Bucket="lake", Key="2024/claims", Range="bytes=7-11")["Body"].read()
    listed = lake.list_objects_v2(Bucket="lake", Prefix="2024/")["Contents"]

    assert hashlib.sha256(content).digest() == hashlib.sha256(whole).digest()
    assert content[7:12] == some
    assert [("2024/claims", len(content))] == [(o["Key"], o["Size"]) for o in listed]


def test_another_key_is_refused(s3: S3Store):
    with pytest.raises(botocore.exceptions.ClientError) as raised:
        client(s3, "another").list_buckets()

    assert 403 == raised.value.response["ResponseMetadata"]["HTTPStatusCode"]


def test_a_bucket_is_a_folder_of_the_directory(s3: S3Store):
    """So what a client put can be looked at, and a named directory keeps it."""
    client(s3).create_bucket(Bucket="warehouse")

    assert s3._home.name == f"s3-{s3.version}"
    assert (s3._directory / "data/warehouse").is_dir()
