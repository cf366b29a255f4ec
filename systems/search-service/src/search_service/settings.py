"""
Settings of the service: environment variables that begin with `SEARCH_`, checked before anything starts.

Every setting is a field of `Settings`, in capital letters with the prefix: `database_url` is `SEARCH_DATABASE_URL`.
"""

import os
from collections.abc import Mapping
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from search_service.errors import SettingsError

PREFIX = "SEARCH_"

Url = Annotated[str, Meta(pattern=r"\Ahttps?://[^\s/]+\Z")]
Prefix = Annotated[str, Meta(pattern=r"\A[a-z][a-z0-9-]{0,30}\Z")]
Positive = Annotated[int, Meta(ge=1)]
Batch = Annotated[int, Meta(ge=1, le=10_000)]
"""A statement of PostgreSQL has at most 65,535 parameters, and a row needs up to three."""


class Settings(Struct, frozen=True, kw_only=True):
    """What the service is told; the defaults are those of one small machine."""

    database_url: str = "postgresql://postgres@127.0.0.1:5432/postgres"
    """The database with the copy."""
    kafka: str = "127.0.0.1:9092"
    """Addresses of brokers, `host:port`, separated by commas."""
    engine_url: Url = "http://127.0.0.1:9200"
    """OpenSearch or Elasticsearch."""
    prefix: Prefix = "catalog"
    """Beginning of the names of topics, of indexes and of the alias."""
    group: Prefix = "search-indexer"
    """Consumer group of the indexers."""
    dirty_tracking: Literal["on", "off"] = "on"
    """`off` sends every column of a changed row to the database, as ORMs without dirty tracking do."""
    batch_events: Batch = 500
    """Most events of one transaction."""
    batch_documents: Batch = 500
    """Most documents of one bulk request."""
    fan_out_products: Batch = 1000
    """Most products that one transaction marks when a supplier or a category changed."""
    partitions: Positive = 4
    """Partitions of each topic, when the service creates it."""
    shards: Positive = 2
    """Shards of a new index, unless a rebuild says another number."""
    metrics_port: Annotated[int, Meta(ge=0, le=65535)] = 0
    """Port for OpenMetrics of the indexer, on loopback; 0 for none."""
    api_port: Annotated[int, Meta(ge=0, le=65535)] = 8080
    api_tokens: str = ""
    """Tokens that may search, separated by commas; the API refuses to start without one."""

    @property
    def tokens(self) -> frozenset[str]:
        """Return the tokens that may search."""
        return frozenset(token for token in self.api_tokens.split(",") if token)

    @property
    def alias(self) -> str:
        """Return the name under which the live index is searched."""
        return self.prefix

    def topic(self, type_name: str) -> str:
        """Return the topic of a type of entity, for example `catalog.product`."""
        return f"{self.prefix}.{type_name}"

    @property
    def dead_letter_topic(self) -> str:
        """Return the topic of events that can never be applied."""
        return f"{self.prefix}.dead-letters"


def settings_of(environment: Mapping[str, str] = os.environ) -> Settings:
    """
    Return the settings that an environment gives.

    Raises:
        SettingsError: a value cannot be used, or a variable with our prefix is none of ours.
    """
    given = {name: value for name, value in environment.items() if name.startswith(PREFIX)}
    names = {PREFIX + field.upper(): field for field in Settings.__struct_fields__}
    if unknown := sorted(set(given) - set(names)):
        raise SettingsError(f"{unknown[0]} is no setting", f"The settings are {', '.join(names)}.")
    for name, value in given.items():
        try:
            msgspec.convert({names[name]: value}, Settings, strict=False)
        except msgspec.ValidationError as error:
            reason = str(error).rpartition(" - at ")[0] or str(error)
            raise SettingsError(f"{name} is '{value}', which cannot be used: {reason}") from None
    return msgspec.convert({names[n]: v for n, v in given.items()}, Settings, strict=False)
