"""The study of captured updates."""
