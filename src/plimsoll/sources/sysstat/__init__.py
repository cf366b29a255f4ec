"""What did iostat, sar or sadf measure on a host: their captures as snapshots."""
