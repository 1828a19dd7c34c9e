"""cli/replay."""
