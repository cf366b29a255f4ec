"""Which alarms would have fired, and when? Pure: ceilings and samples in, alarms and moments out."""
