"""An island node: what it remembers of the API server, and starts pods from while that is away.

Open `rules.py` first: which pods may be started from memory, and how old that may be. `memory.py` is the memory as a
value and as a file. `actor.py` keeps it.
"""
