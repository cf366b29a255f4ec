"""Every package is locked, and the lock has what its layout needs."""

import pytest

from plimsoll.lab.servers.package import PACKAGES, ServerPackage


@pytest.mark.parametrize("package", PACKAGES.values(), ids=PACKAGES)
def test_every_file_has_a_checksum_and_a_size(package: ServerPackage):
    """
    SHA-256 has 64 hexadecimal digits; no file is there twice.
    """
    names = [file.name for file in package.files]

    assert len(names) == len(set(names)) > 0
    assert all(len(file.sha256) == 64 and file.size_bytes > 0 for file in package.files)
    assert sum(file.size_bytes for file in package.files) == package.size_bytes


@pytest.mark.parametrize("package", PACKAGES.values(), ids=PACKAGES)
def test_what_the_layout_takes_is_locked(package: ServerPackage):
    """
    The archive and the jars of modules are among the files.
    """
    names = {file.name for file in package.files}
    wanted = {jar for module in package.modules for jar in module.jars}

    assert wanted | ({package.archive} if package.archive else set()) <= names
    assert all(package.version in artifact for artifact in package.artifacts[:1])
