"""What one pod may cost by its size. `python -m benchmarks.pod_size`."""
