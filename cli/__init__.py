"""Floor 5: the command line. One package per command, and `main.py`, which finds them."""
