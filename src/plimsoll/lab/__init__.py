"""Run real servers and real load on this machine; handed its edges, told when to stop."""
