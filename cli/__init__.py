"""Floor 5: what a person types."""
