"""The file with TLS, users and headers, and what is refused before anything starts."""

import ssl
from pathlib import Path

import pytest

from fixtures.certificates import signed_by_itself
from plimsoll.errors import UsageError
from plimsoll.watch.access_file import read_web_config

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


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("tls_server_confg: {}", "'web.yml' has the unknown key 'tls_server_confg'"),
        (TLS + "  ciphers: []", "'web.yml' has the unknown key 'ciphers' in tls_server_config"),
        ("[1]", "'web.yml': expected a table, got a list"),
        ("basic_auth_users: [a]", "'web.yml': expected a table, got a list in basic_auth_users"),
        (
            f"basic_auth_users:\n  1: {HASH}",
            "'web.yml': expected a text in quotes, got a whole number in a key of basic_auth_users",
        ),
        (
            "basic_auth_users:\n  a: 5",
            "'web.yml': expected a text in quotes, got a whole number in basic_auth_users[...]",
        ),
        ("a: b: c", "'web.yml' is not YAML in line 1"),
        (
            f"basic_auth_users:\n  a: {HASH}\n  a: {HASH}",
            "'web.yml' is not YAML: a key is given twice in line 3",
        ),
        ("!!python/object/apply:os.system ['true']", "'web.yml' is not YAML in line 1"),
        ("[" * 3000, "'web.yml' is nested too deeply"),
        ("{}\n" + "#" * 1_048_576, "'web.yml' has more than 1,048,576 bytes"),
        ("tls_server_config: {}", "'web.yml': tls_server_config needs cert_file and key_file"),
        (
            "tls_server_config: {cert_file: a.pem, key_file: a.pem}",
            "'web.yml': unable to read cert_file 'a.pem': no such file or directory",
        ),
        (
            "tls_server_config: {cert_file: web.yml, key_file: web.yml}",
            "'web.yml': cert_file and key_file are not a certificate and its key without a password",
        ),
        (TLS + "  min_version: TLS11", "'web.yml': min_version 'TLS11' is not supported"),
        (TLS + "  max_version: tls13", "'web.yml': max_version 'tls13' is not supported"),
        (
            TLS + "  min_version: TLS13\n  max_version: TLS12",
            "'web.yml': min_version is above max_version",
        ),
        (
            TLS + "  client_auth_type: RequireAnyClientCert",
            "'web.yml': client_auth_type 'RequireAnyClientCert' is not supported",
        ),
        (
            TLS + "  client_ca_file: localhost.pem",
            "'web.yml': client_ca_file and client_auth_type belong together",
        ),
        (
            TLS + "  client_auth_type: RequireAndVerifyClientCert",
            "'web.yml': client_ca_file and client_auth_type belong together",
        ),
        (
            TLS + "  client_auth_type: VerifyClientCertIfGiven\n  client_ca_file: web.yml",
            "'web.yml': client_ca_file has no certificate",
        ),
        (
            TLS + "  cipher_suites: [TLS_AES_128_GCM_SHA256]",
            "'web.yml': cipher_suites, a list of ciphers, is not supported",
        ),
        (
            TLS + "  client_allowed_sans: [a]",
            "'web.yml': client_allowed_sans, a list of allowed names of clients, is not supported",
        ),
        ("rate_limit: {burst: 1}", "'web.yml': rate_limit, a limit of requests, is not supported"),
        (
            "http_server_config: {headers: {Server: me}}",
            "'web.yml': the header 'Server' cannot be set",
        ),
        (
            'http_server_config: {headers: {X-Frame-Options: "a\\r\\nb: c"}}',
            "'web.yml': the header 'X-Frame-Options' is not one line of ASCII",
        ),
        ("basic_auth_users: {a: sesame}", "'web.yml': the password of 'a' is not a bcrypt hash"),
        (
            f"basic_auth_users: {{a: {HASH[:-1]}}}",
            "'web.yml': the password of 'a' is not a bcrypt hash",
        ),
        (
            f"basic_auth_users: {{a: {HASH.replace('$04$', '$19$')}}}",
            "'web.yml': the hash of 'a' has the cost 19",
        ),
        (
            f"basic_auth_users: {{'a:b': {HASH}}}",
            "'web.yml': the user 'a:b' has a character that no client can send",
        ),
    ],
)
def test_what_cannot_be_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, cause: str
):
    """One sentence that names the place and no secret, and a hint that is a sentence."""
    monkeypatch.chdir(tmp_path)
    written(tmp_path, text)

    with pytest.raises(UsageError) as refused:
        read_web_config(Path("web.yml"))

    assert refused.value.message == cause
    assert refused.value.hint.endswith((".", "?"))
    for told in (refused.value.message, refused.value.hint):
        assert HASH[7:30] not in told
        assert "sesame" not in told


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
