"""simulation/world."""
