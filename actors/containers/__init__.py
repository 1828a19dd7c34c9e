"""actors/containers."""
