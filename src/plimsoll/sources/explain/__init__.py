"""How did a server execute a statement: plans recorded, out of files and out of logs."""
