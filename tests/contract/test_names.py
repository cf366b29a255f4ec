"""Names say what a thing is: each class has one of its own, and none expresses a mood."""

import ast
import re
from collections import defaultdict

from contract.tree import SRC, python_files


def test_no_class_name_is_used_twice():
    """Two classes of one name are two meanings of a word; private ones are met in the same searches."""
    places: dict[str, list[str]] = defaultdict(list)
    for path, tree in python_files(SRC):
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(str(path))

    assert {} == {name: found for name, found in places.items() if len(found) > 1}


# Words that say how a thing feels, not what it is; alone or as a part of a name.
MOODS = {
    "told",
    "desk",
    "shelf",
    "reach",
    "beside",
    "wishes",
    "wanted",
    "pegged",
    "mended",
    "untold",
}


def test_no_class_or_module_is_named_after_a_mood():
    """A class or a module is met far from where its docstring stands."""
    named = [(str(path), path.stem) for path, _ in python_files(SRC)]
    named += [
        (str(path), node.name)
        for path, tree in python_files(SRC)
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    ]

    assert [] == [(path, name) for path, name in named if MOODS & set(words_of(name))]


def words_of(name: str) -> list[str]:
    """Return the words of a name in snake_case or CamelCase, in lower case."""
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)]


def test_words_of_a_name_are_found():
    assert ["beside", "said"] == words_of("BesideSaid")
    assert ["is", "twice", "pegged"] == words_of("is_twice_pegged")
