"""Decide whether the text of a statement names a table or a column."""

import re


def is_named(name: str, text: str) -> bool:
    """
    Return whether a text contains a name as a whole word, ignoring case.

    Args:
        name: `table` or `schema.table`, quoted or not; a statement may omit the schema.
        text: of a statement, as `pg_stat_statements` stores it.
    """
    bare = name.rpartition(".")[2].strip('"')
    return re.search(rf"(?<![\w$]){re.escape(bare)}(?![\w$])", text, re.IGNORECASE) is not None
