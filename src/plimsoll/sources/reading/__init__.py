"""Which metric of which instance is a sample, in what unit; from samples to a snapshot."""
