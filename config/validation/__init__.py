"""config/validation."""
