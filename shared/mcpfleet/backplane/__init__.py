"""The seam between processes: see `base` for the contract."""
