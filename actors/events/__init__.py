"""actors/events."""
