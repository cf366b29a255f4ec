"""TLS and passwords of the HTTP server of a watch, asked by a real Prometheus and by a client that is not allowed."""

import re
import signal
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from contract.tree import ROOT
from fixtures.certificates import signed_by_itself
from live.prometheus_server import PrometheusServer
from live.test_watch_command import finished, until
from unit.watch.test_access_file import HASH, TLS

pytestmark = pytest.mark.live

USERS = f"basic_auth_users:\n  prometheus: {HASH}\n"
PASSWORD = "sesame"
HEADERS = "http_server_config:\n  headers:\n    Strict-Transport-Security: max-age=31536000\n"


@contextmanager
def watching(folder: Path, text: str) -> Iterator[tuple[str, list[str]]]:
    """A watch of a simulated file as a process with this web configuration; its address and lines of its log."""
    signed_by_itself(folder)
    (folder / "web.yml").write_text(text)
    command = [
        *(sys.executable, "-m", "plimsoll", "watch", str(ROOT / "examples" / "quiet")),
        *("--web.listen-address", "localhost:0", "--web.config.file", "web.yml"),
    ]
    process = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True)
    lines: list[str] = []
    try:
        assert process.stderr is not None
        for line in process.stderr:
            lines.append(line)
            if found := re.search(r"event=listening address=\S+:(\d+)", line):
                break
        else:
            raise AssertionError(lines)
        yield f"localhost:{found[1]}", lines
    finally:
        process.send_signal(signal.SIGTERM)
        status, _, errors = finished(process)
        lines += errors.splitlines()
        assert status == 0, lines


def trusting(folder: Path, *, has_certificate: bool = False) -> ssl.SSLContext:
    """What a client trusts, and what it shows."""
    found = ssl.create_default_context(cafile=folder / "localhost.pem")
    if has_certificate:
        found.load_cert_chain(folder / "localhost.pem")
    return found


def test_no_path_answers_without_the_password(tmp_path: Path):
    """401 on every path, one that does not exist among them; with the password each answers, with the headers."""
    paths = ["/", "/metrics", "/-/healthy", "/-/ready", "/absent", "/-/reload"]
    with (
        watching(tmp_path, TLS + USERS + HEADERS) as (address, lines),
        httpx.Client(base_url=f"https://{address}", verify=trusting(tmp_path)) as client,
    ):
        for asked in (None, ("prometheus", "wrong"), ("grafana", PASSWORD), ("", "")):
            for method in ("GET", "POST"):
                found = [client.request(method, path, auth=asked) for path in paths]
                assert [one.status_code for one in found] == [401] * len(paths)
                assert {one.headers["www-authenticate"].split()[0] for one in found} == {"Basic"}
        right = ("prometheus", PASSWORD)
        healthy = client.get("/-/healthy", auth=right)
        assert (healthy.status_code, healthy.text) == (200, "healthy\n")
        assert healthy.headers["strict-transport-security"] == "max-age=31536000"
        assert client.get("/absent", auth=right).status_code == 404
        with pytest.raises(httpx.TransportError):
            httpx.get(f"http://{address}/-/healthy", auth=right)

    assert not any(HASH in line or PASSWORD in line for line in lines)


def test_prometheus_scrapes_over_tls_with_a_password(tmp_path: Path):
    """A real Prometheus, with the password and with a wrong one."""
    with watching(tmp_path, TLS + USERS) as (address, _):
        folder = tmp_path / "prometheus"
        folder.mkdir()
        job = {
            "scheme": "https",
            "tls_config": {"ca_file": str(tmp_path / "localhost.pem")},
            "static_configs": [{"targets": [address]}],
        }
        jobs = {
            name: job | {"basic_auth": {"username": "prometheus", "password": password}}
            for name, password in (("right", PASSWORD), ("wrong", "guess"))
        }
        with PrometheusServer(folder, jobs, "# EOF\n") as server:
            until(lambda: server.query('up{job="right"} == 1'), 60.0)
            until(lambda: server.query('up{job="wrong"} == 0'), 60.0)
            assert server.query('plimsoll_build_info{job="right"}')
            assert not server.query('plimsoll_build_info{job="wrong"}')


def test_a_client_needs_a_certificate_where_one_is_required(tmp_path: Path):
    """One that the authority signed is let in; none is refused in the handshake."""
    more = "  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: localhost.pem\n  min_version: TLS13\n"
    with watching(tmp_path, TLS + more) as (address, _):
        url = f"https://{address}/-/healthy"
        known = httpx.get(url, verify=trusting(tmp_path, has_certificate=True))
        with pytest.raises(httpx.TransportError):
            httpx.get(url, verify=trusting(tmp_path))
        old = trusting(tmp_path, has_certificate=True)
        old.maximum_version = ssl.TLSVersion.TLSv1_2
        with pytest.raises(httpx.TransportError):
            httpx.get(url, verify=old)

    assert known.status_code == 200


def test_a_new_certificate_and_a_new_user_need_no_restart(tmp_path: Path):
    """The next connection sees them; a file that is broken in between changes nothing, and the log says so."""
    with watching(tmp_path, TLS + USERS) as (address, lines):
        url = f"https://{address}/-/ready"
        first = trusting(tmp_path)
        assert httpx.get(url, verify=first, auth=("prometheus", PASSWORD)).status_code != 401
        (tmp_path / "web.yml").write_text("tls_server_config: [")
        assert httpx.get(url, verify=first, auth=("prometheus", PASSWORD)).status_code != 401
        signed_by_itself(tmp_path)
        (tmp_path / "web.yml").write_text(TLS + USERS.replace("prometheus", "grafana"))
        second = trusting(tmp_path)
        assert httpx.get(url, verify=second, auth=("prometheus", PASSWORD)).status_code == 401
        assert httpx.get(url, verify=second, auth=("grafana", PASSWORD)).status_code != 401
        with pytest.raises(httpx.TransportError):
            httpx.get(url, verify=first)

    events = re.findall(r'event="(web config [^"]*)"', "\n".join(lines))
    assert events == ["web config not changed", "web config changed"]
