"""Reports of the limits of an instance and its volumes."""
