"""Read a live account, read-only: RDS, CloudWatch, Enhanced Monitoring, Performance Insights and EC2."""
