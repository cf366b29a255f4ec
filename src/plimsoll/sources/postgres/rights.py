"""Write the smallest sufficient rights as the end of a GRANT."""

from collections.abc import Iterable

# Tables that one line names; a judgement.
_NAMED_MOST = 5


def select_on(names: Iterable[str]) -> str:
    """Return `SELECT ON public.a, public.b`: widths of columns come with it. Names come quoted from the server."""
    return f"SELECT ON {', '.join(sorted(names)[:_NAMED_MOST])}"
