"""The study of what the parties of vertical learning read of each other."""
