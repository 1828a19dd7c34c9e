"""actors/pleg."""
