"""simulation/node."""
