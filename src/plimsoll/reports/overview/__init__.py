"""Which of many instances need attention, said."""
