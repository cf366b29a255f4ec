"""Price books that know less than the catalog's."""

from collections.abc import Callable

from plimsoll.catalog.load import catalog
from plimsoll.catalog.prices import CatalogPrices
from plimsoll.model.instance import Deployment
from plimsoll.model.price import Price


class Lacking:
    """The catalog's prices of a region, without those that a rule names by class or item."""

    name = "a book with gaps"

    def __init__(self, lacks: Callable[[str], bool], region: str = "us-east-1") -> None:
        self._lacks, self._book = lacks, CatalogPrices(catalog(), region)
        self.region = region

    def instance_price(self, db_class: str, engine: str, **asked: object) -> Price | None:
        return None if self._lacks(db_class) else self._book.instance_price(db_class, engine, **asked)  # type: ignore[arg-type]

    def storage_price(self, item: str, *, deployment: Deployment = Deployment.SINGLE_AZ) -> Price | None:
        return None if self._lacks(item) else self._book.storage_price(item, deployment=deployment)

    def why_unknown(self, what: str, **asked: object) -> str:
        return self._book.why_unknown(what, **asked)  # type: ignore[arg-type]


def without_storage() -> Lacking:
    """Prices of classes, and of nothing else."""
    return Lacking(lambda what: what.endswith(("_storage", "_ops", "_throughput")))
