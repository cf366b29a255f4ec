"""The documentation as a site: which pages it has, how it is built, and what is checked. README.md says how."""
