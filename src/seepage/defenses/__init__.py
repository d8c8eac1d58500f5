"""Defences: one file each, acting on an update or on local training. The first come with the inversion engine."""
