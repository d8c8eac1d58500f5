"""The study of sums: what a server behind secure aggregation reads of the clients of its cohorts."""
