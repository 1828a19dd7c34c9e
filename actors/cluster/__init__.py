"""actors/cluster."""
