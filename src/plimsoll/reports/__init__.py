"""Sinks: a diagnosis as text, JSON, Markdown, a page or a picture. They write what they are told."""
