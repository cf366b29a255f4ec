"""
Who may talk to the HTTP server of the watch, and how: TLS, users and headers of a file.

The file has the form of Prometheus's exporter-toolkit (`--web.config.file`).

Rule 1: a file that would protect less than it says is refused.
Rule 2: a hash or a password is in no error and no log.
"""

import re
import ssl
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Literal

import msgspec
import yaml
from msgspec import UNSET, Struct, UnsetType

from plimsoll.errors import UsageError
from plimsoll.watch.refusal import refusal

# A judgement: a user has 80 bytes; a larger file is something else.
_FILE_BYTES_MAX = 1_048_576
# 16 bytes of salt and 23 of digest in the alphabet of bcrypt; the last character of the salt has 2 bits.
_HASH = re.compile(r"\$2[abxy]\$(?P<cost>\d\d)\$[./A-Za-z0-9]{21}[.Oeu][./A-Za-z0-9]{31}")
_COST_MIN = 4
# A judgement: each more doubles the time. 12 is usual and takes 0.2 s; 18 takes 15 s, for every wrong password.
_COST_MAX = 18
_SEE = "The form is that of 'web configuration' of Prometheus's exporter-toolkit."
_VERSIONS = {"TLS12": ssl.TLSVersion.TLSv1_2, "TLS13": ssl.TLSVersion.TLSv1_3}
_HEADERS = (
    "Content-Security-Policy",
    "Strict-Transport-Security",
    "X-Content-Type-Options",
    "X-Frame-Options",
    "X-XSS-Protection",
)
"""Headers that exporter-toolkit lets people set, and we too."""
# What the toolkit has and we do not: key, what it is, and what to do.
_NOT_OURS = {
    "cert": ("a certificate in the file", "Name a file with cert_file."),
    "key": ("a key in the file", "Name a file with key_file."),
    "client_allowed_sans": ("a list of allowed names of clients", "Use a client_ca_file of its own for those clients."),
    "cipher_suites": ("a list of ciphers", "Leave it out; those of OpenSSL's defaults are used."),
    "curve_preferences": ("a list of curves", "Leave it out; OpenSSL's defaults are used."),
    "rate_limit": ("a limit of requests", "Leave it out, or put a proxy in front."),
}
_CLIENTS = {
    "NoClientCert": ssl.CERT_NONE,
    "VerifyClientCertIfGiven": ssl.CERT_OPTIONAL,
    "RequireAndVerifyClientCert": ssl.CERT_REQUIRED,
}


class TlsServerConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The table `tls_server_config`."""

    cert_file: str = ""
    key_file: str = ""
    """Paths, relative to the folder of the file."""
    client_auth_type: str = "NoClientCert"
    client_ca_file: str = ""
    min_version: str = "TLS12"
    max_version: str = "TLS13"
    prefer_server_cipher_suites: bool = True
    """Accepted and without effect, as in the toolkit: TLS 1.3 ignores it."""
    cert: object = UNSET
    key: object = UNSET
    client_allowed_sans: object = UNSET
    cipher_suites: object = UNSET
    curve_preferences: object = UNSET


class HttpServerConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The table `http_server_config`."""

    http2: bool = True
    """Accepted and without effect: the server speaks HTTP/1.1, which every client of HTTP/2 does too."""
    headers: dict[str, str] = {}


class WebConfigFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole file."""

    tls_server_config: TlsServerConfig | UnsetType = UNSET
    http_server_config: HttpServerConfig = HttpServerConfig()
    basic_auth_users: dict[str, str] = {}
    rate_limit: object = UNSET


class WebConfig(Struct, frozen=True, kw_only=True):
    """What a file says, checked."""

    tls: ssl.SSLContext | None
    headers: Mapping[str, str]
    users: Mapping[str, bytes]
    """Hash of each user; empty where nobody is asked for a password."""


class _StrictLoader(yaml.SafeLoader):  # type: ignore[misc]
    """Refuses a key that is given twice: of two hashes of one user, one would be silently ignored."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, object]:
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                continue
            if key.value in seen:
                raise yaml.constructor.ConstructorError(None, None, "a key is given twice", key.start_mark)
            seen.add(key.value)
        found: dict[Hashable, object] = super().construct_mapping(node, deep=deep)
        return found


def files_of(path: Path) -> list[Path]:
    """
    Return the file and those that it names, to be looked at for changes.

    Raises:
        UsageError: the file cannot be used.
    """
    tls = _parsed(path).tls_server_config
    named = [] if tls is UNSET else [tls.cert_file, tls.key_file, tls.client_ca_file]
    return [path, *(path.parent / name for name in named if name)]


def read_web_config(path: Path) -> WebConfig:
    """
    Return what a file says.

    Raises:
        UsageError: the file, a certificate or a key cannot be read or used, or a key is unknown or not supported.
    """
    found = _parsed(path)
    if found.rate_limit is not UNSET:
        raise _not_ours(path, "rate_limit")
    tls = found.tls_server_config
    return WebConfig(
        tls=None if tls is UNSET else _context(path, tls),
        headers=_headers(path, found.http_server_config.headers),
        users=_users(path, found.basic_auth_users),
    )


def _parsed(path: Path) -> WebConfigFile:
    try:
        with path.open("rb") as file:
            raw = file.read(_FILE_BYTES_MAX + 1)
        text = raw.decode()
    except OSError as error:
        raise UsageError(
            f"unable to read '{path}': {(error.strerror or str(error)).lower()}",
            "Give a file with --web.config.file, or config_file in [web].",
        ) from error
    except UnicodeDecodeError as error:
        raise UsageError(
            f"'{path}' is not a text file in UTF-8", "Give a file with --web.config.file, or config_file in [web]."
        ) from error
    if len(raw) > _FILE_BYTES_MAX:
        raise UsageError(f"'{path}' has more than {_FILE_BYTES_MAX:,} bytes", _SEE)
    try:
        # The loader is a safe one: it makes texts, numbers, lists and tables, and nothing else.
        content = yaml.load(text, Loader=_StrictLoader)  # noqa: S506
    except yaml.YAMLError as error:
        # What YAML says of the place quotes the text there, which may be a hash.
        mark = getattr(error, "problem_mark", None)
        place = f" in line {mark.line + 1}" if mark is not None else ""
        problem = str(getattr(error, "problem", None) or "")
        twice = " a key is given twice" if problem == "a key is given twice" else ""
        raise UsageError(f"'{path}' is not YAML{':' if twice else ''}{twice}{place}", _SEE) from None
    except RecursionError as error:
        raise UsageError(f"'{path}' is nested too deeply", _SEE) from error
    try:
        # A key without a value is one that was left out.
        if content is None or isinstance(content, dict):
            content = {key: value for key, value in (content or {}).items() if value is not None}
        return msgspec.convert(content, WebConfigFile)
    except msgspec.ValidationError as error:
        tables = (WebConfigFile, TlsServerConfig, HttpServerConfig)
        raise refusal(path, error, tables, see=_SEE) from None


def _context(path: Path, tls: TlsServerConfig) -> ssl.SSLContext:
    for key in ("cert", "key", "client_allowed_sans", "cipher_suites", "curve_preferences"):
        if not isinstance(getattr(tls, key), UnsetType):
            raise _not_ours(path, key)
    if not tls.cert_file or not tls.key_file:
        raise UsageError(
            f"'{path}': tls_server_config needs cert_file and key_file",
            "Name both, or leave tls_server_config out for a server without TLS.",
        )
    verify = _clients(path, tls)
    least, most = _version(path, tls, "min_version"), _version(path, tls, "max_version")
    if least > most:
        raise UsageError(f"'{path}': min_version is above max_version", "Leave max_version out, or use TLS13.")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version, context.maximum_version = least, most
    context.set_alpn_protocols(["http/1.1"])
    certificate, key_file = path.parent / tls.cert_file, path.parent / tls.key_file
    for name, file in (("cert_file", certificate), ("key_file", key_file)):
        _check_readable(path, name, file)
    try:
        # Without this function OpenSSL would ask the terminal for the password of a key.
        context.load_cert_chain(certificate, key_file, password=lambda: "")
    except (ssl.SSLError, ValueError, OSError) as error:
        raise UsageError(
            f"'{path}': cert_file and key_file are not a certificate and its key without a password",
            "Both are PEM; check that they belong together: openssl x509 -pubkey, openssl pkey -pubout.",
        ) from error
    if tls.client_ca_file:
        authority = path.parent / tls.client_ca_file
        _check_readable(path, "client_ca_file", authority)
        try:
            context.load_verify_locations(authority)
        except (ssl.SSLError, ValueError, OSError) as error:
            raise UsageError(
                f"'{path}': client_ca_file has no certificate", "Name a PEM file of authorities."
            ) from error
    context.verify_mode = verify
    return context


def _clients(path: Path, tls: TlsServerConfig) -> ssl.VerifyMode:
    # The toolkit can also ask for a certificate and not check it, which protects nothing.
    if tls.client_auth_type not in _CLIENTS:
        raise UsageError(
            f"'{path}': client_auth_type '{tls.client_auth_type[:60]}' is not supported",
            f"Use one of {', '.join(_CLIENTS)}.",
        )
    verify = _CLIENTS[tls.client_auth_type]
    if bool(tls.client_ca_file) != (verify is not ssl.CERT_NONE):
        raise UsageError(
            f"'{path}': client_ca_file and client_auth_type belong together",
            "Give both, for example RequireAndVerifyClientCert, or none of them.",
        )
    return verify


def _version(path: Path, tls: TlsServerConfig, key: Literal["min_version", "max_version"]) -> ssl.TLSVersion:
    asked: str = getattr(tls, key)
    if asked not in _VERSIONS:
        raise UsageError(f"'{path}': {key} '{asked[:60]}' is not supported", "Use TLS12 or TLS13, in capitals.")
    return _VERSIONS[asked]


def _check_readable(path: Path, name: str, file: Path) -> None:
    try:
        with file.open("rb") as opened:
            opened.read(1)
    except OSError as error:
        raise UsageError(
            f"'{path}': unable to read {name} '{file}': {(error.strerror or str(error)).lower()}",
            "Check the path, and that this account may read the file.",
        ) from error


def _headers(path: Path, headers: Mapping[str, str]) -> dict[str, str]:
    known = {name.lower(): name for name in _HEADERS}
    found = {}
    for name, value in headers.items():
        if name.lower() not in known:
            raise UsageError(f"'{path}': the header '{name[:60]}' cannot be set", f"Use {', '.join(_HEADERS)}.")
        if not value.isascii() or not value.isprintable():
            raise UsageError(f"'{path}': the header '{name}' is not one line of ASCII", "Write it on one line.")
        if value:
            found[known[name.lower()]] = value
    return found


def _users(path: Path, users: Mapping[str, str]) -> dict[str, bytes]:
    for name, digest in users.items():
        shown = name[:60] if name.isprintable() else "…"
        if ":" in name or not name.isprintable():
            raise UsageError(
                f"'{path}': the user '{shown}' has a character that no client can send",
                "Leave out ':' and what is not printable.",
            )
        hash_of = _HASH.fullmatch(digest)
        if hash_of is None:
            raise UsageError(
                f"'{path}': the password of '{shown}' is not a bcrypt hash",
                "Make one: htpasswd -nBC 10 '' | tr -d ':'. It begins with $2y$ and has 60 characters.",
            )
        if not _COST_MIN <= int(hash_of["cost"]) <= _COST_MAX:
            raise UsageError(
                f"'{path}': the hash of '{shown}' has the cost {int(hash_of['cost'])}",
                f"Use a cost from {_COST_MIN} to {_COST_MAX}; 10 is usual.",
            )
    return {name: digest.encode() for name, digest in users.items()}


def _not_ours(path: Path, key: str) -> UsageError:
    what, hint = _NOT_OURS[key]
    return UsageError(f"'{path}': {key}, {what}, is not supported", hint)
