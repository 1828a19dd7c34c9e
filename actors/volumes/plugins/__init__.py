"""actors/volumes/plugins."""
