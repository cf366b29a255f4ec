"""Debian's packages are unpacked whole or not at all, and not used once they were changed."""

import os
from pathlib import Path

import pytest

from plimsoll.errors import SourceError, UsageError
from plimsoll_lab.servers import debian
from plimsoll_lab.servers.debian import DebianFile
from plimsoll_lab.servers.package import DebianPackage
from plimsoll_lab.servers.store import ServerStore, download_bytes
from programs import script

SMALL = DebianPackage(name="small", title="Small", packages=("small-server",))
URIS = """Reading package lists...
'scheme://host/s/small-server_1.2-3%2bdeb12u1_amd64.deb' small-server_1.2-3+deb12u1_amd64.deb 7000 MD5Sum:0
'scheme://host/l/libsmall2_1.2_amd64.deb' libsmall2_1.2_amd64.deb 500 MD5Sum:0
'scheme://host/p/python3-small_2_all.deb' python3-small_2_all.deb 100 MD5Sum:0
'scheme://host/l/libjs-jquery_3_all.deb' libjs-jquery_3_all.deb 9000 MD5Sum:0
'scheme://host/l/libjson-perl_4_all.deb' libjson-perl_4_all.deb 9000 MD5Sum:0
'scheme://host/a/adduser_3_all.deb' adduser_3_all.deb 9000 MD5Sum:0
"""
APT_GET = f"""case "$*" in
  *--print-uris*) cat <<'END'
{URIS}END
  ;;
  *download*)
    for word; do case "$word" in *=*) touch "${{word%%=*}}.deb";; esac; done
    rm -f APT::Sandbox::User.deb
    echo 'Get:1 scheme://host bookworm/main amd64 small-server amd64 1.2 [7,000 B]'
    echo 'Get:2 scheme://host bookworm/main amd64 libsmall2 amd64 1.2 [0.6 kB]'
  ;;
esac
"""
DPKG_DEB = """mkdir -p "$3/usr/bin" "$3/usr/lib/x86_64-linux-gnu" "$3/usr/share/doc"
echo doc > "$3/usr/share/doc/small"
echo 'reads /usr/share/small now' > "$3/usr/bin/small"
echo library > "$3/usr/lib/x86_64-linux-gnu/$(basename "$2").so"
"""


@pytest.fixture
def clients(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Programs `apt-get` and `dpkg-deb` that say and do what the real ones do."""
    programs = script(tmp_path / "bin/apt-get", APT_GET).parent
    script(programs / "dpkg-deb", DPKG_DEB)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}/usr/bin{os.pathsep}/bin")
    return programs


def test_what_a_server_loads_comes_with_it_and_nothing_else(clients: Path):
    """Libraries and Python modules; no fonts, scripts of pages, or what sets up a service."""
    assert (
        DebianFile("small-server", "1.2-3+deb12u1", 7000),
        DebianFile("libsmall2", "1.2", 500),
        DebianFile("python3-small", "2", 100),
    ) == debian.resolve(SMALL)
    assert 7600 == download_bytes(SMALL)


def test_a_package_is_unpacked_once_and_counted(tmp_path: Path, clients: Path):
    """Its folder has the version; the second time no client is needed."""
    store, counted = ServerStore(tmp_path / "cache"), []
    home = store.get(SMALL, lambda come, total: counted.append((come, total)))
    for program in clients.iterdir():
        program.unlink()

    assert "small-1.2-3+deb12u1" == home.name
    assert [(7000, 7600), (7600, 7600)] == counted
    assert not (home / "usr/share/doc").exists()
    assert f"{home}/usr/lib/x86_64-linux-gnu" == debian.library_path(home)
    assert home == store.get(SMALL)


@pytest.mark.parametrize("how", ["changed", "missing"])
def test_a_file_that_was_changed_since_is_refused(tmp_path: Path, clients: Path, how: str):
    """The hint says what to remove."""
    store = ServerStore(tmp_path / "cache")
    home = store.get(SMALL)
    program = home / "usr/bin/small"
    program.write_text("another") if how == "changed" else program.unlink()

    with pytest.raises(SourceError, match="is not the file that was unpacked") as raised:
        store.get(SMALL)
    assert f"Remove the folder '{home}'" in raised.value.hint


def test_a_folder_in_a_program_is_made_relative(tmp_path: Path, clients: Path):
    """Its length stays; where it is not found, the version is not one that was tried."""
    fixed = DebianPackage(
        name="small", title="Small", packages=("small-server",), fixed_folder=("usr/bin/small", "/usr/share/small")
    )
    home = ServerStore(tmp_path / "cache").get(fixed)
    script(clients / "dpkg-deb", "mkdir -p $3/usr/bin; echo other > $3/usr/bin/small")

    assert "reads usr/share/small/ now\n" == (home / "usr/bin/small").read_text()
    with pytest.raises(SourceError, match="does not have the folder '/usr/share/small' in it"):
        ServerStore(tmp_path / "other").get(fixed)
    assert [".small.lock"] == [path.name for path in (tmp_path / "other/servers").iterdir()]


@pytest.mark.parametrize(
    ("says", "kind", "sentence"),
    [
        ("E: Unable to locate package small-server", UsageError, "does not know 'small-server'"),
        ("E: Package 'small-server' has no installation", UsageError, "does not know 'small-serv"),
        ("E: Failed to fetch: hash sum mismatch", SourceError, "could not bring Small: Failed to"),
        ("killed", SourceError, "could not bring Small: killed"),
    ],
)
def test_apt_that_fails_is_quoted_and_nothing_is_kept(
    tmp_path: Path, clients: Path, says: str, kind: type[Exception], sentence: str
):
    script(clients / "apt-get", f'echo "{says}"; exit 100')
    store = ServerStore(tmp_path / "cache")

    with pytest.raises(kind, match=sentence):
        store.get(SMALL)
    assert store.find(SMALL) is None
    assert [".small.lock"] == [path.name for path in (tmp_path / "cache/servers").iterdir()]


@pytest.mark.parametrize("name", ["apt-get", "dpkg-deb"])
def test_a_machine_that_is_no_debian_is_told(tmp_path: Path, clients: Path, monkeypatch: pytest.MonkeyPatch, name: str):
    (clients / name).unlink()
    monkeypatch.setenv("PATH", str(clients))

    with pytest.raises(UsageError, match=f"this machine has no {name}, and Small comes from"):
        ServerStore(tmp_path / "cache").get(SMALL)


def test_a_package_that_is_missing_has_the_version_and_size_of_apt(clients: Path):
    """One question for all of them; without apt there is no answer."""
    script(clients / "apt-cache", "printf 'Package: small-server\\nVersion: 1.2-3\\nSize: 7000\\nTag: x\\n\\n'")

    assert {"small": DebianFile("small-server", "1.2-3", 7000)} == debian.versions([SMALL])
    (clients / "apt-cache").unlink()
    os.environ["PATH"] = str(clients)
    assert {} == debian.versions([SMALL])
