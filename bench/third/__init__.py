"""A third maker of incidents; see README.md."""
