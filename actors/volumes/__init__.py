"""actors/volumes."""
