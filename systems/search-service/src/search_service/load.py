"""
Made-up events, as the services that own the entities would write them: seeded, skewed, and with the usual faults.

Pure: the same seed and moments give the same events. All texts are made of a few hundred English words; nothing is
anybody's data.
"""

import random
from binascii import crc32
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

import msgspec

from search_service.entities import AnyEntity, Asset, Category, Product, Supplier
from search_service.events import Changed, Deleted, Event, encode, type_of


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_KINDS = _words(
    "boots jacket tent lamp kettle stove rope helmet saddle canoe paddle backpack bottle mattress table chair"
)
_MATERIALS = _words(
    "steel wool cotton leather nylon carbon aluminium bamboo canvas rubber ceramic silk oak plastic cork felt"
)
_TRAITS = _words(
    "light warm folding waterproof heavy quiet bright compact insulated padded flexible durable washable narrow"
)
_MAKERS = _words(
    "Alder Birch Cedar Dogwood Elm Fir Ginkgo Hazel Ironwood Juniper Larch Maple Oleander Poplar Rowan Spruce"
)
_COUNTRIES = ("DE", "FR", "IT", "PL", "SE", "US", "VN", "CN")
_WORDS = (
    *(*_KINDS, *_MATERIALS, *_TRAITS),
    *_words("the a of and with for in on it is are was this that can be from by at as before after while when"),
    *_words("use clean store carry open close fold wash dry hang mount repair replace check measure adjust"),
    *_words("surface handle cover frame buckle zip seam sole strap pole valve burner filter lid spout blade"),
    *_words("winter summer rain snow wind mountain river forest road camp night morning year week hour minute"),
)

SHARES: Mapping[str, float] = {
    "asset views": 0.7027,
    "product price": 0.15,
    "asset text": 0.05,
    "product text": 0.05,
    "duplicate": 0.02,
    "late": 0.015,
    "deletion": 0.01,
    "supplier rename": 0.0002,
    "category rename": 0.0001,
    "bad": 0.002,
}
"""Shares of kinds of events, a judgement: mostly numbers beside a large text that stays, as the post describes."""

KINDS = tuple(SHARES)

_BOOK_LETTERS = 2_000_000
"""Texts are pieces of one long text: making each of its words anew would cost more than all else."""

LATE_MOST = 1000
"""Events that are kept to be sent once more."""


class Outgoing(msgspec.Struct, frozen=True, kw_only=True):
    """A message for Kafka."""

    type: str
    key: bytes
    value: bytes


class Load:
    """The services that own the entities, all in one."""

    def __init__(self, *, products: int, seed: int, text_kb: int, archive: int = 0) -> None:
        """
        Make the catalog: as many assets as products, a supplier for 200 products, a category for 500.

        Args:
            products: number of products.
            archive: number of further assets, of products that are sold no more: they change, but no search
                document shows them.
            seed: the same seed makes the same catalog and the same choices.
            text_kb: length of an asset's text.
        """
        self._seed = seed
        self._text_kb = text_kb
        self._random = random.Random(seed)  # noqa: S311
        self.products = products
        self._archive = archive
        self.suppliers = max(2, products // 200)
        self.categories = max(7, products // 500)
        self._texts: dict[int, int] = {}
        """By number of an asset, the version of its text where it is not the first."""
        self._views: dict[int, int] = {}
        self._prices: dict[int, int] = {}
        self._names: dict[tuple[str, int], int] = {}
        self._sent: list[Outgoing] = []
        words = self._random.choices(_WORDS, k=_BOOK_LETTERS // 5)
        self._book = " ".join(words)

    def archive(self) -> Iterator[Asset]:
        """Yield the first state of every asset of a product that is sold no more."""
        for number in range(self.products, self.products + self._archive):
            yield self._asset(number)

    def catalog(self, at: datetime) -> Iterator[Outgoing]:
        """Yield version 1 of every entity."""
        for number in range(self.suppliers):
            yield self._changed(self._supplier(number), 1, at)
        for number in range(self.categories):
            yield self._changed(self._category(number), 1, at)
        for number in range(self.products):
            yield self._changed(self._product(number), 1, at)
            yield self._changed(self._asset(number), 1, at)

    def next(self, at: datetime, kind: str | None = None) -> Outgoing:
        """
        Return an event of a moment; its version is the moment in microseconds, so it is above all before.

        Args:
            at: the moment.
            kind: one of `KINDS`; None chooses by their shares.
        """
        version = int(at.timestamp() * 1e6)
        if kind is None:
            (kind,) = self._random.choices(KINDS, tuple(SHARES.values()))
        if kind == "bad":
            return self._bad()
        if kind in {"duplicate", "late"}:
            if self._sent:
                return self._sent[-1] if kind == "duplicate" else self._random.choice(self._sent)
            kind = "asset views"
        if kind == "deletion":
            # The product comes back with its next event.
            deleted = Deleted(version=version, at=at, type="product", id=f"p-{self._popular()}")
            return self._kept(deleted)
        return self._kept(Changed(version=version, at=at, entity=self._change(kind)))

    def _change(self, kind: str) -> AnyEntity:
        if kind == "supplier rename":
            number = self._random.randrange(self.suppliers)
            self._names["supplier", number] = self._names.get(("supplier", number), 0) + 1
            return self._supplier(number)
        if kind == "category rename":
            number = self._random.randrange(self.categories)
            self._names["category", number] = self._names.get(("category", number), 0) + 1
            return self._category(number)
        if kind in {"asset views", "asset text"} and self._archive:
            number = self._random.randrange(self.products + self._archive)
        else:
            number = self._popular()
        if kind == "asset views":
            self._views[number] = self._views.get(number, 0) + 1
            return self._asset(number)
        if kind == "asset text":
            self._texts[number] = self._texts.get(number, 0) + 1
            return self._asset(number)
        if kind == "product price":
            self._prices[number] = self._random.randrange(100, 100_000)
        else:
            self._names["product", number] = self._names.get(("product", number), 0) + 1
        return self._product(number)

    def _popular(self) -> int:
        """Return the number of a product; a tenth of the products gets half of the changes."""
        return int(self.products * self._random.random() ** 3.32)

    def _kept(self, event: Event) -> Outgoing:
        message = Outgoing(type=type_of(event), key=event.id.encode(), value=encode(event))
        if len(self._sent) >= LATE_MOST:
            self._sent.pop(self._random.randrange(LATE_MOST // 2))
        self._sent.append(message)
        return message

    def _bad(self) -> Outgoing:
        """Return an event that no version of the schema allows, of several kinds."""
        number = self._popular()
        values = (
            b"{",
            b"\xff\xfe",
            b'{"event":"changed","version":0,"at":"2026-01-01T00:00:00Z","entity":{}}',
            b'{"event":"deleted","version":1,"at":"2026-01-01T00:00:00Z","type":"order","id":"o-1"}',
        )
        return Outgoing(type="product", key=f"p-{number}".encode(), value=self._random.choice(values))

    def _changed(self, entity: AnyEntity, version: int, at: datetime) -> Outgoing:
        event = Changed(version=version, at=at, entity=entity)
        return Outgoing(type=type_of(event), key=entity.id.encode(), value=encode(event))

    def _supplier(self, number: int) -> Supplier:
        name = f"{_MAKERS[number % len(_MAKERS)]} & Sons {number}"
        renames = self._names.get(("supplier", number), 0)
        return Supplier(
            id=f"s-{number}",
            name=name if not renames else f"{name} (formerly {renames})",
            country=_COUNTRIES[number % len(_COUNTRIES)],
        )

    def _category(self, number: int) -> Category:
        renames = self._names.get(("category", number), 0)
        name = f"{_KINDS[number % len(_KINDS)].title()} {number}" if number else "Everything"
        return Category(
            id=f"c-{number}",
            name=name if not renames else f"{name} {renames}",
            parent_id=f"c-{(number - 1) // 6}" if number else None,
        )

    def _product(self, number: int) -> Product:
        made = random.Random(f"{self._seed} product {number}")  # noqa: S311
        kind, material = _KINDS[number % len(_KINDS)], made.choice(_MATERIALS)
        trait, maker = made.choice(_TRAITS), made.choice(_MAKERS)
        renames = self._names.get(("product", number), 0)
        return Product(
            id=f"p-{number}",
            sku=f"{kind[:2].upper()}-{number:06d}",
            name=f"{trait.title()} {material} {kind}{f' mark {renames + 1}' if renames else ''}",
            description=" ".join(made.choices(_WORDS, k=60)),
            brand=maker,
            price_cents=self._prices.get(number, made.randrange(100, 100_000)),
            currency=made.choice(("EUR", "USD")),
            category_id=f"c-{made.randrange(self.categories)}",
            supplier_id=f"s-{made.randrange(self.suppliers)}",
            attributes={"material": material, "trait": trait},
        )

    def _asset(self, number: int) -> Asset:
        length = self._text_kb * 1000
        named = f"{self._seed} {number} {self._texts.get(number, 0)}"
        first = crc32(named.encode()) % (len(self._book) - length)
        return Asset(
            id=f"a-{number}",
            product_id=f"p-{number}" if number < self.products else f"p-gone-{number // 1000}",
            title=f"Manual {number}",
            text=self._book[first : first + length],
            views=self._views.get(number, 0),
        )


def now() -> datetime:
    """Return the present moment."""
    return datetime.now(UTC)
