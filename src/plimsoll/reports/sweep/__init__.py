"""What a sweep over I/O sizes measured, said."""
