"""What a node knows of the end of its machine, and how it asks for time (spec 9.7)."""
