"""Text search over entities that several services own: Kafka to PostgreSQL to OpenSearch, and a REST API."""
