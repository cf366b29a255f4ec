"""An index with products for the cases of relevance, and the API as a program."""

import socket
import subprocess
from typing import Any, Self

import httpx
from flow import asset, category, environment, product, supplier, wait_for
from msgspec.structs import replace

from search_service.document import Parts, document_of, tombstone_of
from search_service.engine import Engine, Write
from search_service.mapping import index_body
from search_service.settings import Settings

ALL = category(1, name="Everything")
SHOES = category(2, parent=1, name="Shoes")
BOOTS = category(3, parent=2, name="Boots")
KITCHEN = category(4, parent=1, name="Kitchen")
ALDER = supplier(1, name="Alder & Sons")
UBEL = supplier(2, name="Übel & Söhne", country="AT")

# Number, name, description, brand, cents, path of categories, supplier, material, text of its manual.
PRODUCTS = (
    (1, "Running shoes", "Light shoes for the road", "Fleet", 8_900, (SHOES, ALL), ALDER, "mesh", ""),
    (2, "Trail running shoe", "Grip on wet stone", "Fleet", 11_900, (SHOES, ALL), ALDER, "mesh", ""),
    (3, "Leather boots", "Warm boots", "Stout", 15_900, (BOOTS, SHOES, ALL), UBEL, "leather", "Wax the boots."),
    (4, "Rubber boots", "For rain", "Stout", 4_900, (BOOTS, SHOES, ALL), ALDER, "rubber", ""),
    (5, "Kettle", "Boils a litre of water", "Hearth", 3_900, (KITCHEN, ALL), UBEL, "steel", "Never run it dry."),
    (6, "Café press", "Makes coffee", "Hearth", 2_900, (KITCHEN, ALL), UBEL, "glass", ""),
    (7, "Naïve straße", "Unicode in a name", "Übung", 100, (KITCHEN, ALL), UBEL, "paper", ""),
    (8, "日本の靴", "Shoes from Japan", "Tokyo", 20_000, (SHOES, ALL), ALDER, "cotton", ""),
    (9, "Shoe rack", "Holds ten pairs of running shoes", "Hearth", 7_900, (KITCHEN, ALL), ALDER, "oak", ""),
    (10, "Lamp", "<b>Bright</b> & quiet", "Hearth", 1_900, (KITCHEN, ALL), ALDER, "steel", "A bright lamp"),
)  # fmt: skip
DELETED = "p-99"


def fill(engine: Engine, settings: Settings) -> None:
    """Index the products and a tombstone."""
    index = f"{settings.prefix}-000001"
    engine.create_index(index, index_body(shards=2))
    writes = [Write(index=index, id=DELETED, version=2, document=tombstone_of(DELETED, 2))]
    for number, name, text, brand, cents, path, maker, material, manual in PRODUCTS:
        parts = Parts(
            product=product(
                number,
                name=name,
                description=text,
                brand=brand,
                price_cents=cents,
                category_id=path[0].id,
                supplier_id=maker.id,
                attributes={"material": material},
            ),
            categories=path,
            supplier=maker,
            assets=[asset(number, text=manual)] if manual else [],
        )
        writes.append(Write(index=index, id=f"p-{number}", version=1, document=document_of(parts, 1)))
    assert all(outcome.is_done for outcome in engine.bulk(writes))
    engine.refresh(index)
    engine.point_alias(settings.alias, index)


class Api:
    """The API as a program on a free port."""

    def __init__(self, settings: Settings, python: str) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.settings = replace(settings, api_port=port)
        self.url = f"http://127.0.0.1:{port}"
        self._python = python
        self.client = httpx.Client(base_url=self.url, timeout=30, headers={"authorization": "Bearer secret"})

    def __enter__(self) -> Self:
        self._program = subprocess.Popen([self._python, "-m", "search_service", "api"], env=environment(self.settings))
        wait_for("an answer of the API", self._answers)
        return self

    def __exit__(self, *_: object) -> None:
        self.client.close()
        self._program.terminate()
        assert self._program.wait(30) in {0, -15}

    def _answers(self) -> bool:
        assert self._program.poll() is None, "the API ended"
        try:
            return self.client.get("/readyz").status_code == 200
        except httpx.TransportError:
            return False

    def get(self, path: str, **parameters: Any) -> Any:
        answer = self.client.get(path, params=parameters)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def ids(self, q: str = "", **parameters: Any) -> list[str]:
        found = self.get("/v1/search", q=q, **parameters)
        return [hit["product"]["id"] for hit in found["hits"]]
