"""Side-by-side measurements: the same workload in torchlike, torch and hand-written JAX. Run ``python -m benchmarks``."""
