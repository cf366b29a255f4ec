"""Documents in which every field of a Struct is filled, so that none is forgotten."""

from typing import Any

import msgspec.inspect as form


def filled(kind: Any) -> Any:
    """Return plain JSON of a Struct or any type in it: the first of several types, one item a list."""
    return _filled(form.type_info(kind), ())


def _filled(kind: form.Type, within: tuple[type, ...]) -> Any:
    match kind:
        case form.StructType(cls=cls, fields=fields):
            return {f.encode_name: _filled(f.type, (*within, cls)) for f in fields}
        case form.ListType(item_type=form.StructType(cls=cls)) if cls in within:
            return []
        case form.VarTupleType(item_type=form.StructType(cls=cls)) if cls in within:
            return []
        case form.UnionType(types=types):
            return _filled(next(t for t in types if not isinstance(t, form.NoneType)), within)
        case form.EnumType(cls=cls):
            return next(iter(cls)).value
        case form.LiteralType(values=values):
            return values[0]
        case form.ListType(item_type=item) | form.VarTupleType(item_type=item):
            return [_filled(item, within)]
        case form.TupleType(item_types=items):
            return [_filled(item, within) for item in items]
        case form.DictType(key_type=key, value_type=value):
            return {_filled(key, within): _filled(value, within)}
    plain = {form.IntType: 7, form.FloatType: 2.5, form.StrType: "text", form.BoolType: True}
    return plain[type(kind)]
