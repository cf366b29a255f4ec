"""
The catalog's prices of one region, as a `PriceBook`.

Rule: an engine with several licences has a price only where the licence is given.
"""

from plimsoll.catalog.load import Catalog
from plimsoll.model.instance import Deployment
from plimsoll.model.price import Price, depends_on_license, priced_engine, subject
from plimsoll.model.shell import shell_word


class CatalogPrices:
    """The prices of a region that the catalog knows; a `PriceBook`."""

    def __init__(self, catalog: Catalog, region: str) -> None:
        """Refer to the prices of `region` in `catalog`; nothing is read yet."""
        self._catalog = catalog
        self._region = region

    @property
    def region(self) -> str:
        """Return the region's name in AWS."""
        return self._region

    @property
    def name(self) -> str:
        """Return the source of the prices."""
        return "the catalog"

    def instance_price(
        self,
        db_class: str,
        engine: str,
        *,
        license_model: str | None = None,
        deployment: Deployment = Deployment.SINGLE_AZ,
        storage_kind: str | None = None,
    ) -> Price | None:
        """Return the price of an hour; None where it is not known."""
        return self._catalog.instance_price(
            db_class,
            priced_engine(engine),
            region=self._region,
            license_model=license_model,
            deployment=deployment,
            storage_kind=storage_kind,
        )

    def storage_price(self, item: str, *, deployment: Deployment = Deployment.SINGLE_AZ) -> Price | None:
        """Return the price of an item of `STORAGE_ITEMS`; None where it is not known."""
        return self._catalog.storage_price(item, region=self._region, deployment=deployment)

    def why_unknown(
        self,
        what: str,
        *,
        engine: str | None = None,
        deployment: Deployment = Deployment.SINGLE_AZ,
        license_model: str | None = None,
    ) -> str:
        """Return a sentence: which price is not known, why, and what would supply it."""
        if engine and license_model is None:
            licenses = self._catalog.licenses(priced_engine(engine))
            depends = depends_on_license(self, what, engine, licenses, deployment=deployment)
            if depends:
                return depends
        of = subject(what, self._region, engine=engine, deployment=deployment, license_model=license_model)
        return (
            f"{of} is not in the catalog; --prices FILE reads it from an offer file, which "
            f"'plimsoll prices refresh --region {shell_word(self._region)}' writes"
        )
