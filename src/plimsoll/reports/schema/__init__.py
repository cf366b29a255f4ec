"""What is each JSON report made of: its JSON Schema, written from the Structs that are its form."""
