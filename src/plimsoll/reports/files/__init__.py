"""Writing of files: complete, and only in the requested place."""
