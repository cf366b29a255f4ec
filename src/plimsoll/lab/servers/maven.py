"""Copy artifacts from Maven Central, through Maven."""

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from xml.sax.saxutils import escape

from plimsoll.errors import SourceError, UsageError
from plimsoll.lab.servers.package import ServerPackage

CLIENT = "mvn"
_INSTALL = "Run 'sudo apt-get install -y maven', which brings Java 17 too."
# "[INFO] Downloaded from central: https://…/kafka_2.13-4.3.1.jar (5.6 MB at 3 MB/s)"
_DOWNLOADED = re.compile(r"Downloaded from \S+ \S*/([^/\s]+) \(")
# "[ERROR] Failed to execute goal …: Could not resolve dependencies …"
_ERROR = re.compile(r"^\[ERROR\] (.+)$", re.MULTILINE)


def project_of(package: ServerPackage) -> str:
    """Return a Maven project (pom.xml) whose dependencies are the artifacts of a package."""
    entries = []
    for artifact in package.artifacts:
        group, name, version, kind = (*artifact.split(":"), "jar")[:4]
        entries.append(
            f"<dependency><groupId>{escape(group)}</groupId><artifactId>{escape(name)}</artifactId>"
            f"<version>{escape(version)}</version><type>{escape(kind)}</type></dependency>"
        )
    return (
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        f"<groupId>plimsoll</groupId><artifactId>{package.name}</artifactId><version>1</version>"
        f"<packaging>pom</packaging><dependencies>{''.join(entries)}</dependencies></project>\n"
    )


def copy_artifacts(
    package: ServerPackage, folder: Path, progress: Callable[[int, int], None]
) -> None:
    """
    Copy the artifacts of a package and all that they depend on to a folder, which is created.

    Args:
        package: what to copy.
        folder: where to; its parent exists.
        progress: is called with the bytes that came and those that will come.

    Raises:
        UsageError: Maven is not installed.
        SourceError: Maven failed; the message has its reason.
    """
    client = shutil.which(CLIENT)
    if client is None:
        raise UsageError(
            f"Maven is not installed, and {package.title} comes from Maven Central", _INSTALL
        )
    project = folder.parent / "pom.xml"
    project.write_text(project_of(package))
    running = subprocess.Popen(  # noqa: S603 - Maven, with a project that we wrote
        [
            *(client, "--batch-mode", "--file", str(project), "dependency:copy-dependencies"),
            *("-DincludeScope=runtime", f"-DoutputDirectory={folder}"),
        ],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    assert running.stdout is not None
    sizes = {file.name: file.size_bytes for file in package.files}
    come, lines = 0, []
    with running:
        try:
            for line in running.stdout:
                lines.append(line)
                for name in _DOWNLOADED.findall(line):
                    come += sizes.pop(name, 0)
                    progress(come, package.size_bytes)
        except BaseException:
            running.kill()
            raise
    if running.returncode:
        reasons = _ERROR.findall("".join(lines)) or ["it gave no reason"]
        raise SourceError(
            f"Maven could not bring {package.title} {package.version}: {reasons[0]}",
            "Check that Maven Central can be reached; a mirror stands in ~/.m2/settings.xml.",
        )
