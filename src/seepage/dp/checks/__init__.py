"""What was said -> what it is worth: one file for each kind of mechanism."""
