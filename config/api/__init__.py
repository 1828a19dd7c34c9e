"""config/api."""
