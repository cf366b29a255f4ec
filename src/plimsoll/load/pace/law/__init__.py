"""The law of pace: allowance, split of a measured rate, forecast of a balance. No I/O and no clock."""
