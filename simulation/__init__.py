"""Floor 4: a world to run nodes in. Knows nothing of the command line."""
