"""
Evaluate the expressions of a CloudFormation template as far as the template alone allows.

Rule: what depends on the account, another stack or a resource is unknown, with the reason.
Source: CloudFormation Template Reference, intrinsic functions and pseudo parameters (read 2026-11-27).
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

from plimsoll.sources.infrastructure.values import UnknownValue

_IN_SUB = re.compile(r"\$\{([^!}][^}]*)\}")
# CloudFormation nests functions a few levels deep; a cycle of conditions would not end.
_DEPTH_MAX = 60


class TemplateValues:
    """The parameters, mappings and conditions of a template."""

    def __init__(self, template: Mapping[str, Any], given: Mapping[str, str], region: str | None) -> None:
        """Refer to a template; `given` replaces the defaults of parameters."""
        self._parameters = _mapping(template.get("Parameters"))
        self._mappings = _mapping(template.get("Mappings"))
        self._conditions = _mapping(template.get("Conditions"))
        self._resources = _mapping(template.get("Resources"))
        self._given = given
        self._region = region
        self.defaults: dict[str, None] = {}
        """Parameters whose default was used, in the order of use."""

    @property
    def parameters(self) -> tuple[str, ...]:
        """Return the names of the parameters."""
        return tuple(self._parameters)

    def value(self, expression: Any, depth: int = 0) -> Any:
        """Return the value of an expression; None for no value, an `UnknownValue` where it is not known."""
        if depth > _DEPTH_MAX:
            return UnknownValue(reason="its expression is nested too deeply")
        if isinstance(expression, str) and "{{resolve:" in expression:
            return UnknownValue(reason="it is a dynamic reference")
        if isinstance(expression, list):
            return [self.value(one, depth + 1) for one in expression]
        if not isinstance(expression, dict) or len(expression) != 1:
            return expression
        name, argument = next(iter(expression.items()))
        if name == "Ref":
            return self._ref(argument)
        function = self._functions.get(name)
        if function is not None:
            return function(self, argument, depth + 1)
        if isinstance(name, str) and name.startswith("Fn::"):
            return UnknownValue(reason=f"{name} cannot be resolved from the template")
        return expression

    def condition(self, name: Any, depth: int = 0) -> bool | None:
        """Return whether a condition holds; None if it is not known."""
        if not isinstance(name, str) or name not in self._conditions:
            return None
        return self._truth(self._conditions[name], depth + 1)

    def _truth(self, expression: Any, depth: int) -> bool | None:
        if depth > _DEPTH_MAX or not isinstance(expression, dict) or len(expression) != 1:
            return None
        name, argument = next(iter(expression.items()))
        if name == "Condition":
            return self.condition(argument, depth)
        if name == "Fn::Equals" and isinstance(argument, list) and len(argument) == 2:
            one, other = (self.value(part, depth + 1) for part in argument)
            return None if _is_open(one) or _is_open(other) else _as_text(one) == _as_text(other)
        if not isinstance(argument, list):
            return None
        parts = [self._truth(part, depth + 1) for part in argument]
        if name == "Fn::Not" and len(parts) == 1:
            return None if parts[0] is None else not parts[0]
        if name == "Fn::And":
            return _all(parts)
        if name == "Fn::Or":
            none = _all([None if part is None else not part for part in parts])
            return None if none is None else not none
        return None

    def _ref(self, name: Any) -> Any:
        if name == "AWS::NoValue":
            return None
        if name == "AWS::Region":
            return self._region or UnknownValue(reason="the region is not known: give --region")
        if not isinstance(name, str) or name not in self._parameters:
            return UnknownValue(reason=f"{str(name)[:60]} is known only in the stack")
        if name in self._given:
            return self._given[name]
        parameter = _mapping(self._parameters[name])
        kind = parameter.get("Type")
        if isinstance(kind, str) and kind.startswith("AWS::SSM::"):
            return UnknownValue(reason=f"parameter {name} is read from Systems Manager")
        default = parameter.get("Default")
        if default is None:
            return UnknownValue(reason=f"parameter {name} has no default: give --parameter {name}=VALUE")
        self.defaults[name] = None
        return default

    def _if(self, argument: Any, depth: int) -> Any:
        if not isinstance(argument, list) or len(argument) != 3:
            return UnknownValue(reason="Fn::If needs a condition and two values")
        holds = self.condition(argument[0], depth)
        if holds is not None:
            return self.value(argument[1] if holds else argument[2], depth)
        one, other = self.value(argument[1], depth), self.value(argument[2], depth)
        if one == other:
            return one
        return UnknownValue(reason=f"condition {str(argument[0])[:60]} is not known")

    def _sub(self, argument: Any, depth: int) -> Any:
        given: Mapping[str, Any] = {}
        if isinstance(argument, list) and len(argument) == 2:
            argument, given = argument[0], _mapping(argument[1])
        if not isinstance(argument, str):
            return UnknownValue(reason="Fn::Sub needs a text")
        parts, end = [], 0
        for match in _IN_SUB.finditer(argument):
            name = match[1].strip()
            value = self.value(given[name], depth) if name in given else self._ref(name)
            if _is_open(value):
                return value if isinstance(value, UnknownValue) else _no_text("Fn::Sub")
            parts += [argument[end : match.start()], _as_text(value)]
            end = match.end()
        return "".join([*parts, argument[end:]]).replace("${!", "${")

    def _find_in_map(self, argument: Any, depth: int) -> Any:
        if not isinstance(argument, list) or len(argument) < 3:
            return UnknownValue(reason="Fn::FindInMap needs three names")
        names = [self.value(part, depth) for part in argument[:3]]
        open_name = next((n for n in names if _is_open(n)), None)
        if open_name is not None:
            is_known = not isinstance(open_name, UnknownValue)
            return _no_text("Fn::FindInMap") if is_known else open_name
        found: Any = self._mappings
        for name in names:
            found = _mapping(found).get(_as_text(name))
        if found is None and len(argument) == 4:
            return self.value(_mapping(argument[3]).get("DefaultValue"), depth)
        return UnknownValue(reason="its mapping has no such entry") if found is None else found

    def _join(self, argument: Any, depth: int) -> Any:
        if not isinstance(argument, list) or len(argument) != 2:
            return UnknownValue(reason="Fn::Join needs a delimiter and a list")
        values = self.value(argument[1], depth)
        if isinstance(values, UnknownValue):
            return values
        if not isinstance(values, list) or not isinstance(argument[0], str):
            return _no_text("Fn::Join")
        open_value = next((v for v in values if _is_open(v)), None)
        if open_value is not None:
            return open_value if isinstance(open_value, UnknownValue) else _no_text("Fn::Join")
        return argument[0].join(_as_text(v) for v in values)

    def _select(self, argument: Any, depth: int) -> Any:
        if not isinstance(argument, list) or len(argument) != 2:
            return UnknownValue(reason="Fn::Select needs an index and a list")
        place, values = self.value(argument[0], depth), self.value(argument[1], depth)
        for one in (place, values):
            if isinstance(one, UnknownValue):
                return one
        try:
            return values[int(place)]
        except (TypeError, ValueError, IndexError, KeyError):
            return UnknownValue(reason="Fn::Select has no such entry")

    def _split(self, argument: Any, depth: int) -> Any:
        if not isinstance(argument, list) or len(argument) != 2:
            return UnknownValue(reason="Fn::Split needs a delimiter and a text")
        text = self.value(argument[1], depth)
        if isinstance(text, UnknownValue):
            return text
        if not isinstance(text, str) or not isinstance(argument[0], str) or not argument[0]:
            return _no_text("Fn::Split")
        return text.split(argument[0])

    _functions: Mapping[str, Callable[["TemplateValues", Any, int], Any]] = {
        "Fn::If": _if,
        "Fn::Sub": _sub,
        "Fn::FindInMap": _find_in_map,
        "Fn::Join": _join,
        "Fn::Select": _select,
        "Fn::Split": _split,
    }


def _no_text(function: str) -> UnknownValue:
    return UnknownValue(reason=f"{function} needs texts")


def _is_open(value: Any) -> bool:
    """Return whether a value is not a text, a number or a truth value."""
    return value is None or isinstance(value, UnknownValue | list | dict)


def _as_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _all(parts: list[bool | None]) -> bool | None:
    if any(part is False for part in parts):
        return False
    return None if None in parts else True


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
