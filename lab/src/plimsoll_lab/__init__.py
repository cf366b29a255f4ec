"""The laboratory of Plimsoll: real servers under real load on this machine, and storage with the limits of RDS."""
