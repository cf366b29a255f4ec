"""Reports of a comparison of two windows."""
