"""Parts shared by all reports: words, facts, and their forms in a terminal, in Markdown and on a page."""
