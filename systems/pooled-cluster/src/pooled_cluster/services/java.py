"""
The Java programs: find a Java, build the services with Maven, and keep what was built.

Rule: a build is kept under the checksum of its sources. The jars of others are checked against `jars.sha256`.
"""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from pooled_cluster.services.errors import UnavailableError, UsageError

OLDEST = 17
"""The oldest Java that runs HikariCP 7 beside Kafka's clients 4."""
SOURCES = Path(__file__).parents[3] / "services"
"""The Maven project, in the folder of the system."""
_HINT = f"Install Java {OLDEST} or newer: sudo apt-get install -y openjdk-17-jre-headless."
_MAVEN_HINT = "Run 'sudo apt-get install -y maven', which brings Java 17 too."
_ERROR = re.compile(r"^\[ERROR\] (.+)$", re.MULTILINE)


def find_java() -> str:
    """
    Return the path of a Java: that of $JAVA_HOME, or `java` on the path.

    Raises:
        UsageError: there is none, or it is too old.
    """
    home = os.environ.get("JAVA_HOME")
    program = str(Path(home, "bin/java")) if home else shutil.which("java")
    if program is None:
        raise UsageError("this machine has no Java, which the services need", _HINT)
    try:
        done = subprocess.run([program, "-version"], capture_output=True, text=True, check=False)  # noqa: S603 - the Java that the user has chosen
    except OSError as error:
        raise UsageError(f"'{program}' is not a Java that can be run", _HINT) from error
    found = re.search(r'version "(?:1\.)?(\d+)', done.stderr + done.stdout)
    if found is None:
        raise UsageError(f"'{program}' is not a Java that can be run", _HINT)
    if int(found[1]) < OLDEST:
        raise UsageError(f"'{program}' is Java {found[1]}, and the services need {OLDEST}", _HINT)
    return program


def build(sources: Path = SOURCES) -> Path:
    """
    Return the folder with the built services and their jars; build them if the sources have changed.

    Args:
        sources: the Maven project; builds are kept in its folder `target`.

    Raises:
        UsageError: the project or Maven is missing.
        UnavailableError: Maven failed, or a jar is not the one that was locked.
    """
    if not (sources / "pom.xml").is_file():
        raise UsageError(
            f"the sources of the services are not in '{sources}'",
            "Install the system from a clone of its repository: make .venv/run.",
        )
    kept = sources / "target" / _checksum(sources)
    kept.parent.mkdir(exist_ok=True)
    with (kept.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.is_dir():
            with tempfile.TemporaryDirectory(dir=kept.parent) as part:
                _run_maven(sources, Path(part, "build"))
                check_jars(Path(part, "build", "lib"), sources / "jars.sha256")
                Path(part, "build").rename(kept)
    return kept


def check_jars(folder: Path, lock: Path) -> None:
    """
    Check that a folder has the locked jars, and no others.

    Raises:
        UnavailableError: it does not.
    """
    wanted = {}
    for line in lock.read_text().splitlines():
        checksum, name = line.split()
        wanted[name] = checksum
    found = {jar.name: hashlib.sha256(jar.read_bytes()).hexdigest() for jar in folder.iterdir()}
    for name in sorted(wanted.keys() | found.keys()):
        if wanted.get(name) != found.get(name):
            raise UnavailableError(f"'{name}' is not the file that was locked", "Delete it from ~/.m2, and try again.")


def _checksum(sources: Path) -> str:
    """Return a checksum of everything that a build is made of."""
    found = hashlib.sha256()
    files = [sources / "pom.xml", sources / "jars.sha256", *(sources / "src").rglob("*")]
    for file in sorted(file for file in files if file.is_file()):
        found.update(f"{file.relative_to(sources)}\0".encode())
        found.update(file.read_bytes())
    return found.hexdigest()[:16]


def _run_maven(sources: Path, folder: Path) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise UsageError("Maven is not installed, and it builds the services", _MAVEN_HINT)
    done = subprocess.run(  # noqa: S603 - the system's own project
        [maven, "-q", "-B", "-f", str(sources / "pom.xml"), f"-Dbuild.folder={folder}", "package"],
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    if done.returncode:
        reasons = _ERROR.findall(done.stdout) or ["it gave no reason"]
        raise UnavailableError(
            f"Maven could not build the services: {reasons[0]}",
            "Check that Maven Central can be reached; a mirror stands in ~/.m2/settings.xml.",
        )
