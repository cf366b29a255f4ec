"""Which alarms would have told, and when? Pure: ceilings and samples in, alarms and moments out."""
