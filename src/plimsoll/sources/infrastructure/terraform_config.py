"""
What the configuration in a plan sets: the region of the provider, and whether an attribute is set at all.

Terraform computes an expression as soon as all that it refers to is known. So an attribute that is unknown
although its expression refers to known values only is null in the configuration: it is not set.
"""

import re
from collections.abc import Mapping
from typing import Any

_INDEX = re.compile(r'\[(?:\d+|"(?:[^"\\]|\\.)*")\]')
_KNOWN_PREFIXES = ("path.", "terraform.", "count.index", "each.key")
# Modules can be nested, but a plan with more levels is not one that Terraform wrote.
_DEPTH_MAX = 50


class TerraformConfig:
    """The configuration of a plan; empty where the document has none."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        """Refer to the configuration and the variables of a document."""
        configuration = _mapping(document.get("configuration"))
        self._root = _mapping(configuration.get("root_module"))
        self._providers = _mapping(configuration.get("provider_config"))
        self._variables = _mapping(document.get("variables"))

    @property
    def region(self) -> str | None:
        """Return the region of the AWS provider; None if it is not known, or if providers differ."""
        regions = {
            self._value(_mapping(provider.get("expressions")).get("region"))
            for provider in map(_mapping, self._providers.values())
            if provider.get("name") == "aws"
        }
        return regions.pop() if len(regions) == 1 else None

    def _value(self, expression: Any) -> str | None:
        """Return a constant, or the value of the one root variable that an expression is."""
        found = _mapping(expression)
        value = found.get("constant_value")
        references = found.get("references")
        if value is None and isinstance(references, list) and len(references) == 1:
            name = str(references[0])
            if name.startswith("var."):
                value = _mapping(self._variables.get(name[4:])).get("value")
        return value if isinstance(value, str) and value else None

    def is_unset(self, change: Mapping[str, Any], name: str) -> bool:
        """
        Return whether the configuration leaves an attribute unset.

        Args:
            change: a resource change of the plan, which names module, type and name of the resource.
            name: an attribute that is not known before apply.
        """
        path = _path(change.get("module_address"))
        resource = self._resource(change, path)
        if resource is None:
            return False
        expression = _mapping(resource.get("expressions")).get(name)
        return expression is None or self._is_known(expression, path, 0)

    def references(self, change: Mapping[str, Any], name: str) -> tuple[str, ...]:
        """Return what the expression of an attribute refers to, within its module, without indices."""
        resource = self._resource(change, _path(change.get("module_address"))) or {}
        found = _mapping(_mapping(resource.get("expressions")).get(name)).get("references")
        return tuple(_INDEX.sub("", str(one)) for one in _list(found))

    def _resource(self, change: Mapping[str, Any], path: tuple[str, ...]) -> Mapping[str, Any] | None:
        wanted = ("managed", change.get("type"), change.get("name"))
        return next(
            (
                r
                for r in map(_mapping, _list(self._module(path).get("resources")))
                if (r.get("mode"), r.get("type"), r.get("name")) == wanted
            ),
            None,
        )

    def _module(self, path: tuple[str, ...]) -> Mapping[str, Any]:
        module = self._root
        for name in path:
            module = _mapping(self._call(module, name).get("module"))
        return module

    def _call(self, module: Mapping[str, Any], name: str) -> Mapping[str, Any]:
        return _mapping(_mapping(module.get("module_calls")).get(name))

    def _is_known(self, expression: Any, path: tuple[str, ...], depth: int) -> bool:
        """Return whether an expression refers to values only that are known before apply."""
        found = _mapping(expression)
        if "constant_value" in found:
            return True
        references = found.get("references")
        if not isinstance(references, list) or depth > _DEPTH_MAX:
            return False
        return all(self._is_known_name(str(one), path, depth) for one in references)

    def _is_known_name(self, name: str, path: tuple[str, ...], depth: int) -> bool:
        if name.startswith(_KNOWN_PREFIXES):
            return True
        if not name.startswith("var."):
            return False
        if not path:
            return True
        variable = _INDEX.sub("", name).split(".")[1]
        call = self._call(self._module(path[:-1]), path[-1])
        given = _mapping(call.get("expressions")).get(variable)
        # A variable that the call does not set has its default, which is a constant.
        return given is None or self._is_known(given, path[:-1], depth + 1)


def _path(address: Any) -> tuple[str, ...]:
    """Return the names of nested modules: `module.a["x"].module.b` is `a`, `b`."""
    if not isinstance(address, str):
        return ()
    parts = _INDEX.sub("", address).split(".")
    return tuple(parts[1::2])


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
