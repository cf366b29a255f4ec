"""The live account: RDS, CloudWatch, Enhanced Monitoring, Performance Insights and EC2, read-only."""
