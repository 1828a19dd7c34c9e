"""Which constructor arguments each actor of a node gets.

They come from its plan, its capabilities, and the other actors.

Open `known_actors.py` first: `Wiring` starts an actor, and `KnownActors` are those that others must know. Each of the
other modules starts the actors of some rooms. An actor that this node does without is left out: it is configured away,
or a capability is missing.
"""
