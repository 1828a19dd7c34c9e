"""actors/model."""
