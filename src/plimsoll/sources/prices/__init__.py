"""What does a class of instance or a byte of storage cost: offer files of the AWS Price List."""
