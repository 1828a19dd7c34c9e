"""actors/node."""
