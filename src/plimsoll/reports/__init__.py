"""Reports: a diagnosis and other results as text, JSON, Markdown, pages and pictures."""
