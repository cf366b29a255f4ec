"""Sample this host's disks, processors, memory and network from /proc."""
