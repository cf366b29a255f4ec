"""Names of classes: each is used once, so that a search for it finds one thing."""

import ast
from collections import defaultdict

from contract.tree import SRC, python_files


def test_no_class_name_is_used_twice():
    """
    Two classes of one name are two meanings of a word; private ones are met in the same searches.
    """
    places: dict[str, list[str]] = defaultdict(list)
    for path, tree in python_files(SRC):
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(str(path))

    assert {} == {name: found for name, found in places.items() if len(found) > 1}
