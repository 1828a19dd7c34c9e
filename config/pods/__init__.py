"""config/pods."""
