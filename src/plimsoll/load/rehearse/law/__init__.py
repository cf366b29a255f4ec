"""The law of a rehearsal: a sample in, a time out. Pure."""
