"""simulation/host."""
