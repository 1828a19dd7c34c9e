"""config/documents."""
