"""Bring a server's files from Maven Central, through Maven."""

import re
import shutil
from pathlib import Path
from xml.sax.saxutils import escape

from plimsoll.errors import SourceError, UsageError
from plimsoll_lab.servers.client import run_client
from plimsoll_lab.servers.layout import check_file, lay_out
from plimsoll_lab.servers.package import MavenPackage, Progress

_INSTALL = "Run 'sudo apt-get install -y maven', which brings Java 17 too."
_COORDINATES = ("groupId", "artifactId", "version", "type", "classifier")
_ALONE = "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>"
# "[INFO] Downloaded from central: https://…/kafka_2.13-4.3.1.jar (5.6 MB at 3 MB/s)"
_DOWNLOADED = re.compile(r"Downloaded from \S+ \S*/([^/\s]+) \(")
# "[ERROR] Failed to execute goal …: Could not resolve dependencies …"
_ERROR = re.compile(r"^\[ERROR\] (.+)$", re.MULTILINE)


def project_of(package: MavenPackage) -> str:
    """Return a Maven project (pom.xml) whose dependencies are the artifacts of a package."""
    entries = []
    for artifact in package.artifacts:
        words = [escape(word) for word in artifact.split(":")]
        parts = "".join(f"<{tag}>{word}</{tag}>" for tag, word in zip(_COORDINATES, words, strict=False))
        entries.append(f"<dependency>{parts}{_ALONE if package.is_alone else ''}</dependency>")
    return (
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        f"<groupId>plimsoll</groupId><artifactId>{package.name}</artifactId><version>1</version>"
        f"<packaging>pom</packaging><dependencies>{''.join(entries)}</dependencies></project>\n"
    )


def bring(package: MavenPackage, part: Path, progress: Progress) -> str:
    """
    Prepare a package in the folder `home` of another, and return its version.

    Raises:
        UsageError: Maven is not installed.
        SourceError: Maven failed, or a file is not the one that was locked.
    """
    jars = part / "jars"
    copy_artifacts(package, jars, progress)
    for file in package.files:
        check_file(jars / file.name, file, package)
    lay_out(package, jars, part / "home")
    return package.version


def copy_artifacts(package: MavenPackage, folder: Path, progress: Progress) -> None:
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
    client = shutil.which(package.client)
    if client is None:
        raise UsageError(f"Maven is not installed, and {package.title} comes from Maven Central", _INSTALL)
    project = folder.parent / "pom.xml"
    project.write_text(project_of(package))
    sizes = {file.name: file.size_bytes for file in package.files}

    def count(line: str) -> None:
        for name in _DOWNLOADED.findall(line):
            sizes.pop(name, None)
            progress(package.size_bytes - sum(sizes.values()), package.size_bytes)

    status, output = run_client(
        [
            *(client, "--batch-mode", "--file", str(project), "dependency:copy-dependencies"),
            *("-DincludeScope=runtime", f"-DoutputDirectory={folder}"),
        ],
        count,
    )
    if status:
        reasons = _ERROR.findall(output) or ["it gave no reason"]
        raise SourceError(
            f"Maven could not bring {package.title} {package.version}: {reasons[0]}",
            "Check that Maven Central can be reached; a mirror stands in ~/.m2/settings.xml.",
        )
