"""Reports of sweeps over I/O sizes."""
