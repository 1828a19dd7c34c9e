"""actors/resources."""
