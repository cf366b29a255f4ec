"""Nothing of this machine's own AWS configuration reaches these tests, and nobody waits in them."""

import os
from types import SimpleNamespace

import pytest


@pytest.fixture(autouse=True)
def alone(monkeypatch, tmp_path):
    """No variable, no file and no metadata service of AWS; retries follow at once."""
    for name in [n for n in os.environ if n.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setattr("botocore.endpoint.time", SimpleNamespace(sleep=lambda _seconds: None))
    monkeypatch.setattr("botocore.retries.bucket.TokenBucket.acquire", lambda *_args, **_options: True)
