"""Run real servers under real load on this machine; the caller passes the callbacks and the time limit."""
