"""actors/sync."""
