"""simulation/play."""
