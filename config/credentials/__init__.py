"""config/credentials."""
