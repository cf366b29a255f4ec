"""Reports of an overview of many instances."""
