"""runtime/host."""
