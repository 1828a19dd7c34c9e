"""actors/images."""
