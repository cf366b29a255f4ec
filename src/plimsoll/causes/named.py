"""Whether the text of a statement names a table or a column."""

import re


def is_named(name: str, text: str) -> bool:
    """
    Return whether a text has a name as a word of its own, in whatever case.

    Args:
        name: `table` or `schema.table`, quoted or not; a statement may leave the schema out.
        text: of a statement, as `pg_stat_statements` keeps it.
    """
    bare = name.rpartition(".")[2].strip('"')
    return re.search(rf"(?<![\w$]){re.escape(bare)}(?![\w$])", text, re.IGNORECASE) is not None
