"""The list says what is here and what would come, and downloads nothing."""

from pathlib import Path

from plimsoll_lab.servers.listing import lab_servers
from plimsoll_lab.servers.package import KAFKA, PACKAGES
from plimsoll_lab.servers.store import ServerStore


def test_what_is_in_the_store_is_here(tmp_path: Path):
    """The others have the size of what would come and the command that brings it."""
    store = ServerStore(tmp_path)
    home = tmp_path / f"servers/kafka-{KAFKA.version}"
    home.mkdir(parents=True)
    found = {server.name: server for server in lab_servers(store)}

    assert str(home) == found["kafka"].place
    assert "" == found["opensearch"].place
    assert 61_031_650 == found["opensearch"].download_bytes
    assert "plimsoll lab servers --get opensearch" == found["opensearch"].command
    assert "pip" == found["aws"].client
    assert {"postgres", "mariadb", *PACKAGES} == set(found)
