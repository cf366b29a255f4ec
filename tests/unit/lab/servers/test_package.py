"""Every package is locked, and the lock has what its layout needs."""

import re

import pytest

from contract.tree import ROOT
from plimsoll_lab.cli.lab.servers import Downloaded, Started
from plimsoll_lab.servers.package import PACKAGES, MavenPackage, Package, PipPackage
from plimsoll_lab.servers.started import STARTED

OF_MAVEN = [package for package in PACKAGES.values() if isinstance(package, MavenPackage)]
OF_PIP = [package for package in PACKAGES.values() if isinstance(package, PipPackage)]


def name(package: Package) -> str:
    return package.name


@pytest.mark.parametrize("package", OF_MAVEN, ids=name)
def test_what_the_layout_takes_is_locked_with_checksum_and_size(package: MavenPackage):
    """
    SHA-256 has 64 hexadecimal digits; no file is there twice. The archive and the jars of modules are
    among the files.
    """
    names = [file.name for file in package.files]
    locked = {file.name for file in package.files}
    wanted = {jar for module in package.modules for jar in module.jars}

    assert len(names) == len(set(names)) > 0
    assert all(len(file.sha256) == 64 and file.size_bytes > 0 for file in package.files)
    assert sum(file.size_bytes for file in package.files) == package.size_bytes
    assert wanted | ({package.archive} if package.archive else set()) <= locked
    assert all(package.version in artifact for artifact in package.artifacts[:1])


@pytest.mark.parametrize("package", OF_PIP, ids=name)
def test_every_wheel_has_a_version_and_a_checksum(package: PipPackage):
    """One line a package, then its hashes; no address and no option."""
    lines = package.requirements.replace(" \\\n", "").splitlines()
    shape = re.compile(r"[a-z0-9._-]+==\S+( ; [^#]+?)?( +--hash=sha256:[0-9a-f]{64})+")

    assert [] == [line for line in lines if not shape.fullmatch(line)]
    assert package.size_bytes > 1_000_000


def test_every_package_can_be_downloaded_and_every_server_started_by_its_name():
    """The options of the command take the names that there are."""
    assert list(PACKAGES) == [choice.value for choice in Downloaded]
    assert set(STARTED) == {choice.value for choice in Started}


def test_the_guide_names_servers_that_there_are():
    """Its table has every name, and its commands take them."""
    text = (ROOT / "docs/guides/run-real-servers.md").read_text(encoding="utf-8")
    table = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    named = {name for cell in table for name in re.findall(r"`(\w+)`", cell)}

    assert set(STARTED) == named
    assert set(PACKAGES) >= set(re.findall(r"--get (\w+)", text))
    assert set(STARTED) >= set(re.findall(r"--start (\w+)", text))
