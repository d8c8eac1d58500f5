"""Small messy tables, and what every column of them must be read as."""
