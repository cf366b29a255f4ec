"""The description of the API (OpenAPI 3.1), made of the types that check requests and answers."""

from typing import Any

import msgspec

from search_service.api.answer import Problem, SearchAnswer, SuggestAnswer, WholeProduct
from search_service.api.request import SearchRequest, SuggestRequest
from search_service.entities import Identifier

_JSON = "application/json"


def openapi() -> dict[str, Any]:
    """Return the description."""
    kinds = (SearchRequest, SuggestRequest, SearchAnswer, SuggestAnswer, WholeProduct, Problem)
    references, schemas = msgspec.json.schema_components(kinds, ref_template="#/components/schemas/{name}")
    answers = dict(zip(kinds, references, strict=True))
    identifier = {
        "name": "product_id",
        "in": "path",
        "required": True,
        "schema": _ecma(msgspec.json.schema(Identifier)),
    }
    queries = {kind: _parameters(schemas.pop(kind.__name__)) for kind in kinds[:2]}
    paths = {
        "/v1/search": _get("Search products", queries[SearchRequest], answers[SearchAnswer]),
        "/v1/suggest": _get("Suggest names", queries[SuggestRequest], answers[SuggestAnswer]),
        "/v1/products/{product_id}": _get("Get a product", [identifier], answers[WholeProduct]),
    }
    paths["/v1/products/{product_id}"]["get"]["responses"]["404"] = _problem("No such product")
    return {
        "openapi": "3.1.0",
        "info": {"title": "Product search", "version": "1.0.0"},
        "paths": paths,
        "components": {"schemas": _ecma(schemas), "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "security": [{"token": []}],
    }


def _get(summary: str, parameters: list[dict[str, Any]], schema: dict[str, Any]) -> dict[str, Any]:
    found = {"description": "Found", "content": {_JSON: {"schema": schema}}}
    return {
        "get": {
            "summary": summary,
            "parameters": parameters,
            "responses": {
                "200": found,
                "400": _problem("Not valid"),
                "401": _problem("No token"),
                "413": _problem("It has a body"),
                "414": _problem("The address is too long"),
                "503": _problem("Busy, or the engine does not answer"),
            },
        }
    }


def _problem(description: str) -> dict[str, Any]:
    schema = {"$ref": "#/components/schemas/Problem"}
    return {"description": description, "content": {"application/problem+json": {"schema": schema}}}


def _parameters(schema: dict[str, Any]) -> list[dict[str, Any]]:
    required = schema.get("required", [])
    return [
        {"name": name, "in": "query", "required": name in required, "explode": True, "schema": _given(_ecma(found))}
        for name, found in schema["properties"].items()
    ]


def _given(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a parameter that is given: nobody can write null in a URL."""
    kinds = [kind for kind in schema.get("anyOf", ()) if kind != {"type": "null"}]
    return kinds[0] if len(kinds) == 1 else {k: v for k, v in schema.items() if k != "default" or v}


def _ecma(schema: Any) -> Any:
    r"""Return the schema with the regular expressions of JSON Schema, which have `^` and `$` for `\A` and `\Z`."""
    if isinstance(schema, dict):
        return {
            key: value.replace(r"\A", "^").replace(r"\Z", "$").replace(r"\0", r"\u0000")
            if key == "pattern"
            else _ecma(value)
            for key, value in schema.items()
        }
    return [_ecma(item) for item in schema] if isinstance(schema, list) else schema
