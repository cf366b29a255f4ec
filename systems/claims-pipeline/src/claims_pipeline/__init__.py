"""Files of Medicare claims: SFTP to S3 to PostgreSQL, with materialized views and data tests."""
