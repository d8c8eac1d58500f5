"""The study of rows: what a server reads of clients' rows from their updates."""
