"""The Spark engine: Spark distributes the buckets of a lake, and each task runs the one function of all engines."""
