"""The study of vertical training: TabVFL and its baselines."""
