"""The file with TLS, users and headers, and what is refused before anything starts."""

import ssl
from collections.abc import Callable
from pathlib import Path

import pytest

from fixtures.certificates import signed_by_itself
from plimsoll.errors import UsageError
from plimsoll.watch.access_file import read_web_config
from refused_texts import refused

# Of the password `sesame`, with the least cost.
HASH = "$2y$04$gdN9g3ELsPvIvjiuh023R.mYkZD1thkwaQGWejv5zxHFPSBl0.6cC"
TLS = "tls_server_config:\n  cert_file: localhost.pem\n  key_file: localhost.pem\n"


def written(folder: Path, text: str) -> Path:
    """A file with this text, beside a certificate."""
    signed_by_itself(folder)
    path = folder / "web.yml"
    path.write_text(text)
    return path


def test_a_whole_file_is_read(tmp_path: Path):
    """Paths begin in the folder of the file; what has no effect here is accepted."""
    found = read_web_config(
        written(
            tmp_path,
            TLS
            + "  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: localhost.pem\n"
            + "  min_version: TLS13\n  prefer_server_cipher_suites: true\n"
            + "http_server_config:\n  http2: false\n  headers:\n    x-frame-options: deny\n"
            + f"basic_auth_users:\n  prometheus: {HASH}\n",
        )
    )

    assert found.tls is not None
    assert found.tls.minimum_version is ssl.TLSVersion.TLSv1_3
    assert found.tls.verify_mode is ssl.CERT_REQUIRED
    assert found.headers == {"X-Frame-Options": "deny"}
    assert found.users == {"prometheus": HASH.encode()}


def test_an_empty_file_protects_nothing(tmp_path: Path):
    """As with the toolkit: no TLS, no users, no headers."""
    found = read_web_config(written(tmp_path, ""))

    assert (found.tls, found.users, found.headers) == (None, {}, {})


def test_what_cannot_be_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, golden: Callable[[str, str], None]):
    """One sentence that names the place and no secret, and a hint that is a sentence."""
    monkeypatch.chdir(tmp_path)
    signed_by_itself(tmp_path)

    def read(text: str) -> None:
        Path("web.yml").write_text(text)
        read_web_config(Path("web.yml"))

    shown = refused("web.yml.txt", read)
    told = "".join(line for line in shown.splitlines() if line.startswith(("error: ", "hint: ")))
    assert HASH[7:30] not in told
    assert "sesame" not in told
    golden("refusals/texts/web.yml.txt", shown)
    for text, cause in (
        ("[" * 3000, "'web.yml' is nested too deeply"),
        ("{}\n" + "#" * 1_048_576, "'web.yml' has more than 1,048,576 bytes"),
    ):
        with pytest.raises(UsageError) as found:
            read(text)
        assert found.value.message == cause


def test_a_file_that_is_not_there_is_refused(tmp_path: Path):
    """The hint names both ways to give one."""
    with pytest.raises(UsageError, match="no such file") as refused:
        read_web_config(tmp_path / "none.yml")

    assert "--web.config.file" in refused.value.hint


def test_every_key_of_the_toolkit_is_read_or_refused_with_a_reason(tmp_path: Path):
    """No key of the published form is merely unknown."""
    keys = {
        "tls_server_config": (
            *("cert_file", "key_file", "cert", "key", "client_auth_type", "client_ca_file"),
            *("client_allowed_sans", "min_version", "max_version", "cipher_suites"),
            *("prefer_server_cipher_suites", "curve_preferences"),
        ),
        "http_server_config": ("http2", "headers"),
    }
    for table, names in keys.items():
        for name in names:
            path = written(tmp_path, f"{table}:\n  {name}: []\n")
            with pytest.raises(UsageError) as refused:
                read_web_config(path)
            assert "unknown key" not in refused.value.message
