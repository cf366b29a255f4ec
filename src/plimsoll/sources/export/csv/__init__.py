"""Which samples are in a table of text: delimiters, long and wide, slice by slice."""
