"""What did this host do: its disks, processors and memory, sampled from /proc."""
