"""cli/run."""
