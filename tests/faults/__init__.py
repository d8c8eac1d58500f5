"""Faults on purpose. `python -m tests.faults` (`make fault-tests`) runs every campaign in full and prints the table.

A campaign is a function `campaign(share)` in a file of its own: it does the share of its full count of faults and
returns tallies. The default suite runs one of each kind; the full counts take half an hour.
"""
