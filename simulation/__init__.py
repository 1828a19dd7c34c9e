"""Floor 4: a world to run nodes in. Virtual time, simulated host and runtime, embedded API server, faults.

Open `world/world.py` first, then `play/play.py`: how a scenario is played in a world. `cluster` is for other people's
tests. Knows nothing of the command line.
"""
