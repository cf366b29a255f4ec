import os
import time

import pytest

from plimsoll.errors import AccessDenied, PlimsollError, UsageError
from plimsoll.sources.aws import credentials
from plimsoll.sources.aws.account import open_account
from plimsoll.sources.aws.operations import DESCRIBE_INSTANCES
from unit.sources.aws.cloud import NOW_S, SECRET


def asked(tmp_path, configuration="", profile="shop"):
    """What the first request of a profile raises; nothing is sent."""
    (tmp_path / "config").write_text(f"[profile shop]\nregion = eu-west-1\n{configuration}")
    account = open_account(profile=profile, region="eu-west-1", max_api_calls=10, now_s=lambda: NOW_S)
    with pytest.raises(PlimsollError) as caught:
        account.call(DESCRIBE_INSTANCES)
    assert account.usage.call_count == 0
    assert caught.value.hint.endswith(".")
    return caught.value


@pytest.mark.parametrize("is_configured", [True, False])
def test_a_web_identity_token_that_is_missing_is_named(is_configured, tmp_path, monkeypatch):
    """On EKS the token is mounted into the pod; without it nothing was asked and no answer garbled."""
    token = tmp_path / "no-token"
    configuration = ""
    if is_configured:
        configuration = f"role_arn = arn:aws:iam::123456789012:role/r\nweb_identity_token_file = {token}\n"
    else:
        monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(token))
        monkeypatch.setenv("AWS_ROLE_ARN", "arn:aws:iam::123456789012:role/r")
    error = asked(tmp_path, configuration, "shop" if is_configured else None)

    assert isinstance(error, AccessDenied)
    assert f"the web identity token '{token}' cannot be read: no such file" in error.message
    assert "AWS_WEB_IDENTITY_TOKEN_FILE" in error.hint


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        (f"echo no json but {SECRET}", "printed no JSON"),
        ("echo []", "printed JSON that is not an object"),
        ('echo {"Version": 2}', "printed JSON whose Version is not 1"),
        ('echo {"Version": 1}', "printed JSON that lacks AccessKeyId or SecretAccessKey"),
        ("false", "failed"),
        ("no-such-program-anywhere", "could not be started: no such file or directory"),
    ],
)
def test_a_credential_process_that_does_not_do_its_part_is_named(program, expected, tmp_path):
    """What it printed is not repeated."""
    quoted = program.replace("echo {", "echo '{") + ("'" if "echo {" in program else "")
    error = asked(tmp_path, f"credential_process = {quoted}\n")

    assert isinstance(error, AccessDenied)
    assert f"the credential_process of the AWS profile {expected}" == error.message
    assert SECRET not in error.hint


@pytest.mark.parametrize("is_source", [False, True])
def test_a_credential_process_that_hangs_is_ended(is_source, tmp_path, monkeypatch):
    """It is named with the time it had, as the source of a role's credentials too."""
    monkeypatch.setattr(credentials, "PROCESS_S", 0.3)
    configuration = "credential_process = sleep 30\n"
    if is_source:
        configuration = (
            f"role_arn = arn:aws:iam::123456789012:role/r\nsource_profile = base\n[profile base]\n{configuration}"
        )
    begun_s = time.monotonic()
    error = asked(tmp_path, configuration)

    assert isinstance(error, AccessDenied)
    assert "the credential_process of the AWS profile did not end in 0.3 s" == error.message
    assert time.monotonic() - begun_s < 15


def test_a_code_is_not_asked_for_where_nobody_can_type_it(tmp_path, monkeypatch):
    """In a job there is no terminal; that is not an expired credential."""
    read, write = os.pipe()
    os.close(write)
    monkeypatch.setattr("plimsoll.sources.aws.credentials._TERMINAL", str(tmp_path / "none"))
    with os.fdopen(read) as nothing:
        monkeypatch.setattr("sys.stdin", nothing)
        error = asked(
            tmp_path,
            "role_arn = arn:aws:iam::123456789012:role/r\nsource_profile = base\n"
            "mfa_serial = arn:aws:iam::123456789012:mfa/me\n"
            f"[profile base]\naws_access_key_id = AKIA\naws_secret_access_key = {SECRET}\n",
        )

    assert "needs an MFA code, but there is no terminal" in error.message


@pytest.mark.parametrize("name", ["AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_RDS"])
def test_an_address_that_is_none_is_named_by_its_variable(name, tmp_path, monkeypatch):
    """The address itself may hold a password."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIA")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv(name, "not a url:word@")
    error = asked(tmp_path)

    assert isinstance(error, UsageError)
    assert f"{name} is not a URL" == error.message
    assert "word" not in error.hint
