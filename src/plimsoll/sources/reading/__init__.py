"""Find metric, instance and unit of samples, and assemble them into a snapshot."""
