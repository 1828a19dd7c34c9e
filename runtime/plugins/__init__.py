"""runtime/plugins."""
