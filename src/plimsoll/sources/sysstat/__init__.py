"""Read captures of iostat, sar and sadf into snapshots."""
