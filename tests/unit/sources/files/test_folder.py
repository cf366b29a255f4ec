"""A folder bounds what is read; what cannot be listed below it is a gap."""

import os
from pathlib import Path

import pytest

from plimsoll.errors import AccessDenied, DataError, SourceError
from plimsoll.sources.files import folder as folders
from plimsoll.sources.files.folder import data_files
from plimsoll.sources.targets import many, one


def folder_in(tmp_path: Path) -> Path:
    """An export with a file, beside a folder that is somebody else's."""
    folder = tmp_path / "export"
    (folder / "inside").mkdir(parents=True)
    (folder / "inside" / "a.csv").write_text("time,ReadIOPS\n2026-01-01T00:00:00Z,1\n")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "b.csv").write_text("time,ReadIOPS\n2026-01-01T00:00:00Z,2\n")
    return folder


@pytest.mark.attack(
    "A folder of exports has a link to `/`",
    "the link is not followed, and the report names it; the files of the folder count",
)
@pytest.mark.parametrize("link", ["/", "..", "../other", "../chain"])
def test_a_link_out_of_the_folder_is_named_and_not_followed(tmp_path, link):
    """Of the whole machine, the folder above, a neighbour, or in two steps."""
    folder = folder_in(tmp_path)
    (tmp_path / "chain").symlink_to("other")
    (folder / "link").symlink_to(link)
    files, gaps = data_files(folder)

    assert [folder / "inside" / "a.csv"] == files
    assert [("folder link", "a link out of the folder, which is not followed")] == [
        (gap.metric, gap.reason) for gap in gaps
    ]


@pytest.mark.parametrize("read", [lambda f: one.read(f).gaps, lambda f: next(many.read_all(f)).gaps])
def test_the_report_names_the_link(tmp_path, read):
    """Of one instance and of many."""
    folder = folder_in(tmp_path)
    (folder / "link").symlink_to("/")

    assert "folder link" in [gap.metric for gap in read(folder)]


def test_links_within_the_folder_and_to_files_are_followed(tmp_path):
    """As people arrange exports, and as Kubernetes mounts them; each folder counts once."""
    folder = folder_in(tmp_path)
    (folder / "again").symlink_to("inside")
    (folder / "b.csv").symlink_to("../other/b.csv")
    files, gaps = data_files(folder)

    assert ["b.csv", "a.csv"] == [file.name for file in files]
    assert [] == gaps


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (FileNotFoundError(2, "No such file or directory"), "no such file or directory"),
        (PermissionError(13, "Permission denied"), "permission denied"),
        (OSError(5, "Input/output error"), "input/output error"),
    ],
)
def test_a_folder_below_that_vanishes_or_is_anothers_is_a_gap(tmp_path, monkeypatch, error, reason):
    """The other files count; only the folder that was named ends the reading."""
    folder = folder_in(tmp_path)
    (folder / "closed").mkdir()
    listed = Path.iterdir

    def iterdir(self: Path):
        if self.name == "closed":
            raise error
        return listed(self)

    monkeypatch.setattr(Path, "iterdir", iterdir)
    files, gaps = data_files(folder)

    assert [folder / "inside" / "a.csv"] == files
    assert ["folder closed"] == [gap.metric for gap in gaps]
    assert gaps[0].reason.endswith(reason)
    with pytest.raises((SourceError, AccessDenied), match=reason):
        data_files(folder / "closed")


def test_an_entry_that_vanishes_is_left_out(tmp_path, monkeypatch):
    """It was listed, and is gone when it is looked at."""
    folder = folder_in(tmp_path)
    (folder / "gone.csv").write_text("")
    stat = Path.stat

    def gone(self: Path, **options: bool) -> os.stat_result:
        if self.name == "gone.csv":
            raise PermissionError(13, "Permission denied")
        return stat(self, **options)

    monkeypatch.setattr(Path, "stat", gone)

    assert [folder / "inside" / "a.csv"] == data_files(folder)[0]


@pytest.mark.parametrize("name", ["{}.csv", ".{}", "{}.md"])
def test_a_folder_of_too_many_entries_is_refused(tmp_path, monkeypatch, name):
    """Also of hidden ones and of those that are no data; nothing beyond the bound is listed."""
    monkeypatch.setattr(folders, "MOST_FILES", 4)
    monkeypatch.setattr(folders, "_MOST_ENTRIES", 8)
    for number in range(9):
        (tmp_path / name.format(number)).write_text("")
    with pytest.raises(DataError, match="more than 4 files"):
        data_files(tmp_path)
