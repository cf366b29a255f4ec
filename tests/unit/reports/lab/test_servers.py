"""The list of servers, as people read it."""

from plimsoll.reports.document.text import document_text
from plimsoll_lab.model.lab import LabServer
from plimsoll_lab.reports.lab.servers import servers_document


def server(name: str, place: str, size: int | None) -> LabServer:
    return LabServer(
        name=name,
        title=name.title(),
        version="1.0",
        client="mvn",
        place=place,
        download_bytes=size,
        command=f"get {name}",
    )


def test_what_is_missing_has_its_size_and_its_command():
    servers = [server("kafka", "/cache/kafka", 56_000_000), server("search", "", 61_031_650)]
    text = document_text(servers_document(servers, "/cache"), width=80, color=False)

    assert "1 of 2 servers are on this machine." in text
    assert "Search" in text
    assert "61 MB" in text
    assert "56 MB" not in text
    assert "Search: get search" in text
    assert "kept in /cache" in text


def test_nothing_is_to_get_where_all_are_here():
    text = document_text(servers_document([server("kafka", "/cache/kafka", 1)], "/cache"), width=80, color=False)

    assert "To get what is missing".upper() not in text
