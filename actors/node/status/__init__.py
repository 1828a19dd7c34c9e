"""actors/node/status."""
