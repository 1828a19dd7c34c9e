"""config/flags."""
