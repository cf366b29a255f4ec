"""
The values of `--allow` and `--deny`: patterns of classes and of storage types, and five words.

A pattern is a case-insensitive glob on classes (`db.m6g.*`, with or without `db.`) or on storage types
(`gp3`, `io*`). A denied class or type is not proposed, even if the instance has it. Once a class is
allowed, only allowed classes are proposed as a change; the same holds for storage types. The current
class and type need not be allowed.

Words in `allow` lift a rule of `needs.py`: `smaller-cpu`, `smaller-memory`, `smaller-connections`,
`smaller-network`. The word `graviton` is a change of processor architecture, either way: it is
allowed unless it is denied.
"""

from collections.abc import Iterable
from fnmatch import fnmatchcase

from msgspec import Struct

from plimsoll.catalog.load import Catalog
from plimsoll.catalog.names import class_name
from plimsoll.errors import UsageError
from plimsoll.model.instance import Instance
from plimsoll.model.plan import PlanConstraints

ARCHITECTURE = "graviton"
SMALLER_CPU = "smaller-cpu"
SMALLER_MEMORY = "smaller-memory"
SMALLER_CONNECTIONS = "smaller-connections"
SMALLER_NETWORK = "smaller-network"
WORDS = (ARCHITECTURE, SMALLER_CPU, SMALLER_MEMORY, SMALLER_CONNECTIONS, SMALLER_NETWORK)
STORAGE_KINDS = ("gp2", "gp3", "io1", "io2", "standard")


class ProposalPatterns(Struct, frozen=True, kw_only=True):
    """The classes and storage types that may be proposed."""

    allowed_classes: tuple[str, ...] = ()
    """Globs; empty allows every class."""
    denied_classes: tuple[str, ...] = ()
    allowed_kinds: tuple[str, ...] = ()
    """Globs on storage types; empty allows every type."""
    denied_kinds: tuple[str, ...] = ()
    words: frozenset[str] = frozenset()
    """Words that were allowed."""
    is_architecture_kept: bool = False

    def denies_class(self, db_class: str) -> bool:
        """Return whether a class must not be proposed, even if the instance has it."""
        return _matches_class(db_class, self.denied_classes)

    def names_class(self, db_class: str) -> bool:
        """Return whether a pattern allows a class explicitly."""
        return _matches_class(db_class, self.allowed_classes)

    def permits_class(self, db_class: str) -> bool:
        """Return whether the instance may be changed to a class."""
        is_allowed = not self.allowed_classes or self.names_class(db_class)
        return is_allowed and not self.denies_class(db_class)

    def denies_kind(self, kind: str | None) -> bool:
        """Return whether a storage type must not be proposed, even if the instance has it."""
        return kind is not None and _matches(kind, self.denied_kinds)

    def permits_kind(self, kind: str) -> bool:
        """Return whether the storage may be changed to a type."""
        is_allowed = not self.allowed_kinds or _matches(kind, self.allowed_kinds)
        return is_allowed and not self.denies_kind(kind)


def patterns_of(instance: Instance, constraints: PlanConstraints, catalog: Catalog) -> ProposalPatterns:
    """
    Return the patterns that the constraints allow and deny.

    Raises:
        UsageError: a pattern that matches nothing, a word both allowed and denied, or patterns that
            contradict what is to be kept.
    """
    known = catalog.classes()
    for asked in set(constraints.allow) & set(constraints.deny):
        raise UsageError(f"'{asked}' is both allowed and denied", "Give it once.")
    allow, deny = _words(constraints.allow), _words(constraints.deny)
    if deny - {ARCHITECTURE}:
        word = min(deny - {ARCHITECTURE})
        raise UsageError(f"'{word}' is denied by default", f"Omit it, or use --allow {word} to permit it.")
    found = ProposalPatterns(
        allowed_classes=_classes(constraints.allow, known),
        denied_classes=_classes(constraints.deny, known),
        allowed_kinds=_kinds(constraints.allow),
        denied_kinds=_kinds(constraints.deny),
        words=frozenset(allow),
        is_architecture_kept=ARCHITECTURE in deny,
    )
    for asked in (*constraints.allow, *constraints.deny):
        if not (_words((asked,)) or _classes((asked,), known) or _kinds((asked,))):
            raise UsageError(
                f"'{asked}' matches no class and no storage type",
                f"Use a pattern, for example db.m6g.* or gp3, or a word: {', '.join(WORDS)}.",
            )
    _check_kept(instance, constraints, found)
    return found


def _check_kept(instance: Instance, constraints: PlanConstraints, found: ProposalPatterns) -> None:
    """Refuse a denied class or storage type that is to be kept."""
    if constraints.keep_class and instance.db_class is not None:
        if found.denies_class(instance.db_class):
            raise UsageError(
                f"--keep-class keeps {class_name(instance.db_class)}, which --deny rules out",
                "Leave one of the two out.",
            )
        if found.allowed_classes:
            raise UsageError(
                f"--keep-class keeps {class_name(instance.db_class)}, so no other class can be"
                f" allowed: {', '.join(found.allowed_classes)}",
                "Leave one of the two out.",
            )
    kind = instance.storage.kind
    if constraints.keep_storage and kind is not None:
        if found.denies_kind(kind):
            raise UsageError(f"--keep-storage keeps {kind}, which --deny rules out", "Leave one of the two out.")
        if found.allowed_kinds:
            raise UsageError(
                f"--keep-storage keeps {kind}, so no other type can be allowed: {', '.join(found.allowed_kinds)}",
                "Leave one of the two out.",
            )


def _words(asked: Iterable[str]) -> set[str]:
    return {one.strip().lower() for one in asked} & set(WORDS)


def _classes(asked: Iterable[str], known: tuple[str, ...]) -> tuple[str, ...]:
    """Return those patterns that match a class."""
    return tuple(one for one in asked if any(_matches_class(name, (one,)) for name in known))


def _kinds(asked: Iterable[str]) -> tuple[str, ...]:
    """Return those patterns that match a storage type."""
    return tuple(one for one in asked if any(_matches(kind, (one,)) for kind in STORAGE_KINDS))


def _matches_class(db_class: str, globs: tuple[str, ...]) -> bool:
    bare = class_name(db_class).removeprefix("db.")
    return _matches(bare, tuple(one.strip().lower().removeprefix("db.") for one in globs))


def _matches(text: str, globs: tuple[str, ...]) -> bool:
    return any(fnmatchcase(text.lower(), one.strip().lower()) for one in globs)
