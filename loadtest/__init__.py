"""Load tests and benchmarks; everything runs on loopback and ends by itself."""
