"""Reports of the lab: a gate, a run, a sweep and played incidents, as text, JSON, Markdown and pages."""
