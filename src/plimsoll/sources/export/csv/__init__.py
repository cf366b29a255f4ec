"""Read tables of text, slice by slice: any delimiter, long or wide."""
