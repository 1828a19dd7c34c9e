"""simulation/faults."""
