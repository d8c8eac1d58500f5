"""The study of a cheating server: weights of its own making, and what clients answer to them."""
