"""
Start the servers of the pipeline on this machine with a small delivery, or end them: `service.py up`, `service.py down`.

Rule 1: a server is started only if no CLAIMS_ variable names one; those that are named are left alone.
Rule 2: only what was started here is ended: by its process id, if that process began when ours did.
Rule 3: all data are made up by `claims-pipeline generate`.
"""

import argparse
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from claims_pipeline.errors import ClaimsError, UnavailableError
from claims_pipeline.programs import program_of
from claims_pipeline.settings import settings_of

VARIABLES = {"postgres": "CLAIMS_DATABASE_URL", "s3": "CLAIMS_S3_ENDPOINT", "sftp": "CLAIMS_SFTP_URL"}
"""By server that can be started, the variable that names one instead."""
NOTES = {
    "key of clients": "CLAIMS_SFTP_KEY",
    "host key": "CLAIMS_SFTP_HOST_KEY",
    "AWS_ACCESS_KEY_ID": "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY": "AWS_SECRET_ACCESS_KEY",
    "AWS_DEFAULT_REGION": "AWS_REGION",
}
"""What else a started server says, and the variable for it."""
START_S = 900.0
"""Servers are downloaded once, on a slow line perhaps."""
END_S = 60.0
SEED = 1


def up(folder: Path, beneficiaries: int) -> None:
    """Start servers, generate a delivery, and set up; what fails ends what was started."""
    if _running(folder):
        raise UnavailableError("the servers run already", "End them first: make down.")
    settings_of()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700, parents=True)
    try:
        environment = {**os.environ, **_servers(folder)}
        _fill(folder, environment, beneficiaries)
    except BaseException:
        down(folder, keeps_logs=True)
        raise
    names = [name for name in environment if name.startswith(("CLAIMS_", "AWS_"))]
    kept = folder / "settings"
    kept.touch(mode=0o600)
    kept.write_text("".join(f"export {name}={shlex.quote(environment[name])}\n" for name in sorted(names)))
    place = os.path.relpath(folder)
    sys.stdout.write(
        "PostgreSQL, S3 and SFTP run, with a made-up delivery of three organisations on the SFTP server.\n"
        f"Their addresses and keys: . {place}/settings\n"
        "Go on: .venv/bin/claims-pipeline transfer\n"
        "End them: make down\n"
    )


def down(folder: Path, *, keeps_logs: bool = False) -> bool:
    """End what was started, and return whether it ran; its data go."""
    found = _running(folder)
    if found is not None:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            os.kill(found, number)
            end = time.monotonic() + END_S
            while _running(folder) is not None and time.monotonic() < end:
                time.sleep(0.05)
            if _running(folder) is None:
                break
    programs = _kept(folder).get("programs")
    if programs:
        shutil.rmtree(programs, ignore_errors=True)
    (folder / "started.json").unlink(missing_ok=True)
    if not keeps_logs:
        shutil.rmtree(folder, ignore_errors=True)
    return found is not None


def _servers(folder: Path) -> dict[str, str]:
    """Start the servers that no variable names; return the variables for all that was started."""
    missing = [name for name, variable in VARIABLES.items() if not os.environ.get(variable)]
    if not missing:
        return {}
    words = shlex.split(os.environ.get("PLIMSOLL", "plimsoll"))
    if shutil.which(words[-1] if words[0] == "env" else words[0]) is None:
        raise UnavailableError(
            f"{VARIABLES[missing[0]]} is not set, and there is no {words[0]} that starts a server",
            "Set it to the address of one that runs.",
        )
    sys.stderr.write(f"starting {', '.join(missing)}; the first time they are downloaded\n")
    options = [word for name in missing for word in ("--start", name)]
    log = folder / "servers.log"
    with log.open("w") as output:
        started = subprocess.Popen(  # noqa: S603 - our own command
            [*words, "lab", "servers", *options],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    _keep(folder, pid=started.pid, begun=_beginning(started.pid))
    end = time.monotonic() + START_S
    while len(_addresses(log)) < len(missing) or "Press" not in log.read_text():
        if started.poll() is not None or time.monotonic() > end:
            lines = [line for line in log.read_text().splitlines() if line.strip()]
            said = (lines or ["it gave no reason"])[-1].removeprefix("error: ")
            raise UnavailableError(f"the servers did not start: {said}", f"The log is {log}.")
        time.sleep(0.1)
    return {**_addresses(log), **_notes(log)}


def _fill(folder: Path, environment: Mapping[str, str], beneficiaries: int) -> None:
    """Set up, and put a generated delivery onto the SFTP server if it is ours."""
    command = [sys.executable, "-m", "claims_pipeline"]
    words = ["setup"]
    if "CLAIMS_DATABASE_URL" not in os.environ:
        words += ["--send-keys", "--fetch", str(_fetch(folder))]
    _do([*command, *words], environment)
    if "CLAIMS_SFTP_URL" not in os.environ:
        delivery = Path(environment["CLAIMS_SFTP_KEY"]).parent / "data"
        made = ["generate", str(delivery), "--seed", str(SEED), "--months", "2"]
        _do([*command, *made, "--beneficiaries", str(beneficiaries)], environment)
        for path in (delivery, *delivery.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)


def _fetch(folder: Path) -> Path:
    """Copy claims-fetch to where the database's account can run it: it may not enter our folders."""
    programs = Path(tempfile.mkdtemp(prefix="claims-programs-", dir="/var/tmp"))
    _keep(folder, programs=str(programs))
    programs.chmod(0o755)
    return Path(shutil.copy2(program_of(settings_of(), "claims-fetch"), programs))


def _do(command: Sequence[str], environment: Mapping[str, str]) -> None:
    done = subprocess.run(  # noqa: S603 - our own command
        command, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        lines = done.stderr.splitlines() or ["it gave no reason"]
        hint = next((line[6:] for line in lines if line.startswith("hint: ")), "")
        first = next((line for line in lines if line.startswith("error: ")), lines[-1])
        raise ClaimsError(first.removeprefix("error: "), hint)


def _addresses(log: Path) -> dict[str, str]:
    lines = [line for line in log.read_text().splitlines() if " answers at " in line]
    return {VARIABLES[line.partition(" ")[0]]: line.rpartition(" ")[2] for line in lines}


def _notes(log: Path) -> dict[str, str]:
    found = {}
    for line in log.read_text().splitlines():
        for name, variable in NOTES.items():
            for start in (f"  {name}=", f"  {name}: "):
                if line.startswith(start):
                    found[variable] = line.removeprefix(start)
    return found


def _kept(folder: Path) -> dict[str, str | int]:
    file = folder / "started.json"
    return dict(json.loads(file.read_text())) if file.exists() else {}


def _keep(folder: Path, **more: str | int) -> None:
    (folder / "started.json").write_text(json.dumps({**_kept(folder), **more}))


def _beginning(pid: int) -> str:
    """Return when a process began, in ticks since the machine did; empty if it does not run (proc(5), stat)."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    # A process that has ended and was not waited for is a zombie.
    return "" if fields[0] == "Z" else fields[19]


def _running(folder: Path) -> int | None:
    """Return the id of our process if it runs; one that has got the same number later is somebody else's."""
    kept = _kept(folder)
    pid, begun = int(kept.get("pid", 0)), kept.get("begun", "")
    return pid if pid and begun and _beginning(pid) == begun else None


def main() -> int:
    """Run; an error is one sentence and a hint, and status 2."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("action", choices=("up", "down"))
    parser.add_argument("--folder", type=Path, default=Path("run"), help="of the log (run)")
    parser.add_argument("--beneficiaries", type=int, default=200, help="of each organisation (200)")
    arguments = parser.parse_args()
    folder = arguments.folder.absolute()
    signal.signal(signal.SIGTERM, signal.getsignal(signal.SIGINT))
    try:
        if arguments.action == "up":
            up(folder, arguments.beneficiaries)
        else:
            sys.stdout.write("ended: servers\n" if down(folder) else "nothing was running\n")
    except ClaimsError as error:
        hint = f"hint: {error.hint}\n" if error.hint else ""
        sys.stderr.write(f"error: {error.sentence}\n{hint}")
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
