"""runtime/state."""
