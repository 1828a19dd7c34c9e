"""Floor 5: what a person types. One package per command, and `main.py`, which finds them."""
