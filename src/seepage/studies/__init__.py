"""Studies: the only rooms that hold both what was shared and what was true."""
