"""actors/status."""
