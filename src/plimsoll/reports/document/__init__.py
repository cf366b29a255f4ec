"""A report as one value, and its forms: text for a terminal, Markdown, a page."""
