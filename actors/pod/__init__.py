"""actors/pod."""
