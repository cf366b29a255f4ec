"""What each way past would do with the demand, which are shown, and which to try first."""
