"""cli/up."""
