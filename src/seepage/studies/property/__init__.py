"""The study of properties: shares of rows, read from models."""
