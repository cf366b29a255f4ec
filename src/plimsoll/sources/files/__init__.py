"""Read files within bounds: decompress them, and decode text and JSON."""
