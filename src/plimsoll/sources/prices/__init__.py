"""Read prices of instance classes and storage from offer files of the AWS Price List."""
