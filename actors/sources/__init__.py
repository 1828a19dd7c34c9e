"""actors/sources."""
