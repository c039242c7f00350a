"""The command line: parse, call the public names, write."""
