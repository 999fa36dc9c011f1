"""Table metadata and files in the warehouse: what a table is made of, and that nothing of it lies elsewhere."""
