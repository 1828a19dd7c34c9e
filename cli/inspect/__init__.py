"""cli/inspect."""
