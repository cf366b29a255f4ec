"""The command line: parse options, call `app`, and print; one file or folder for each command."""
