"""actors/volumes/claims."""
