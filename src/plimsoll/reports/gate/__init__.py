"""What does a running gate do now: its status for programs."""
