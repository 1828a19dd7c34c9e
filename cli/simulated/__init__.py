"""cli/simulated."""
