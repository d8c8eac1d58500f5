"""The study of vertical gradients: rows read from gradients of aligned batches."""
