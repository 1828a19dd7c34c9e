"""runtime/files."""
