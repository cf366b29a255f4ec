"""What happened in the phases of the pooled cluster, and what Plimsoll said about it?"""
