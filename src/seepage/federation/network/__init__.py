"""Parties as programs: vertical training between machines, over gRPC with mutual TLS."""
