"""
Events: a version of an entity, or its deletion, as JSON in a Kafka message.

The key of the message is the entity's id, so all versions of an entity are in one partition, and compaction keeps
the last. A deletion is an event too, not a null value: it has a version, and must not overtake or be overtaken.
"""

from datetime import datetime
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from search_service.entities import AnyEntity, Asset, Category, Identifier, Product, Supplier, Version

TYPES: dict[str, type[AnyEntity]] = {"supplier": Supplier, "category": Category, "product": Product, "asset": Asset}
"""By the name of a type, its entity; each type has a topic of its own."""

Moment = Annotated[datetime, Meta(tz=True)]
YEARS = range(1970, 2200)
"""Years in which events are written. Python and PostgreSQL do not agree about the first and the last years."""


class Changed(Struct, frozen=True, kw_only=True, tag="changed", tag_field="event", forbid_unknown_fields=True):
    """An entity has a new version."""

    version: Version
    at: Moment
    """When its service wrote it."""
    entity: AnyEntity

    @property
    def id(self) -> str:
        """Return the id of the entity."""
        return self.entity.id


class Deleted(Struct, frozen=True, kw_only=True, tag="deleted", tag_field="event", forbid_unknown_fields=True):
    """An entity was deleted, which is a version like any other."""

    version: Version
    at: Moment
    type: str
    id: Identifier


Event = Changed | Deleted

_DECODER: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)
_ENCODER = msgspec.json.Encoder()


class BadEventError(Exception):
    """An event that can never be applied; the message is the reason."""


def decode(data: bytes | None, *, topic_type: str, key: bytes | None) -> Event:
    """
    Return the event of a message.

    Args:
        data: the message's value.
        topic_type: the type of entity that the topic carries.
        key: the message's key.

    Raises:
        BadEventError: it is not JSON, does not follow the schema, or does not belong to the topic or key.
    """
    if data is None:
        raise BadEventError("the message has no value; a deletion is an event with a version")
    try:
        event = _DECODER.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadEventError(str(error)) from None
    found = type_of(event)
    if found != topic_type:
        raise BadEventError(f"an event of type '{found}' is in the topic of type '{topic_type}'")
    if key is None or key != event.id.encode():
        raise BadEventError("the key of the message is not the id of the entity")
    if event.at.year not in YEARS:
        raise BadEventError(f"the event was written in the year {event.at.year}")
    if isinstance(event, Changed):
        _check_text(msgspec.to_builtins(event.entity))
    return event


def encode(event: Event) -> bytes:
    """Return the event as the value of a message."""
    return _ENCODER.encode(event)


def type_of(event: Event) -> str:
    """Return the name of the event's type of entity, a key of `TYPES` unless it is unknown."""
    if isinstance(event, Deleted):
        return event.type
    return next(name for name, kind in TYPES.items() if isinstance(event.entity, kind))


def _check_text(value: object) -> None:
    """Refuse characters that PostgreSQL cannot store."""
    if isinstance(value, str) and "\0" in value:
        raise BadEventError("a text contains the character U+0000, which PostgreSQL cannot store")
    if isinstance(value, dict):
        for item in (*value, *value.values()):
            _check_text(item)
