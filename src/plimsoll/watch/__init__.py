"""Watch: keep the diagnosis of many databases fresh, and tell people once when it changes."""
