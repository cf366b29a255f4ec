"""Structure: sub-packages have no import cycles, and related files share a folder."""

from collections import defaultdict
from pathlib import Path

from contract.tree import SRC, python_files
from house import circles, crowded, dotted, imported, room_of

# Folder and prefix → number of files with it today. Entries are only removed or lowered.
CROWDED: dict[tuple[str, str], int] = {}


def test_sub_packages_have_no_import_cycle():
    """No import cycle passes through several sub-packages."""
    assert [] == circles(imports_of_rooms())


def test_files_of_one_prefix_have_a_folder():
    """A folder has at most two files of one prefix, except those listed; three become a folder."""
    new = {key: count for key, count in crowded(_paths()).items() if count > CROWDED.get(key, 0)}

    assert {} == new


def test_listed_prefixes_are_still_crowded():
    """If a prefix has fewer files than listed, the list must be corrected."""
    found = crowded(_paths())
    gone = {key: count for key, count in CROWDED.items() if found.get(key, 0) < count}

    assert {} == gone


def test_a_cycle_is_found_through_any_number_of_sub_packages():
    """Sub-packages that reach themselves form one cycle; those that only lead to it are not part of it."""
    arrows = {"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}, "e": {"f"}}

    assert [{"a", "b", "c"}] == circles(arrows)


def test_sub_packages_are_folders_and_loose_files():
    """A sub-package is the second name below the package: a folder with all below it, or a file."""
    paths = [Path("a/b/c.py"), Path("a/b/__init__.py"), Path("a/d.py"), Path("e.py")]

    assert ["a.b", "a.b", "a.d", "e"] == [room_of(dotted(path)) for path in paths]


def test_a_prefix_counts_the_file_that_is_only_the_prefix():
    """`host.py` belongs to `host_loop.py` and `host_rates.py`; a file in another folder does not."""
    names = ["a/host.py", "a/host_loop.py", "a/host_rates.py", "a/hosts.py", "a/b/host_x.py"]

    assert {("a", "host"): 3} == crowded([Path(name) for name in names])


def imports_of_rooms() -> dict[str, set[str]]:
    """Return for each sub-package the sub-packages that its modules import."""
    trees = {dotted(path): tree for path, tree in python_files(SRC)}
    arrows: dict[str, set[str]] = defaultdict(set)
    for name, tree in trees.items():
        for found in imported(tree):
            # `from a import b` is the module a.b where there is one, otherwise a name in a.
            module = found if found in trees else found.rpartition(".")[0]
            if module in trees and room_of(module) != room_of(name):
                arrows[room_of(name)].add(room_of(module))
    return dict(arrows)


def _paths() -> list[Path]:
    return [path for path, _ in python_files(SRC)]
