"""The server for assistants: tools of the Model Context Protocol that read, and change nothing."""
