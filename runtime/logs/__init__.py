"""runtime/logs."""
