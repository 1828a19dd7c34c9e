"""actors/messages."""
