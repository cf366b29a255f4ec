"""Edges that read: exports, recorded snapshots, this host. They speak only the model."""
