"""From the SFTP server of the senders to S3."""
