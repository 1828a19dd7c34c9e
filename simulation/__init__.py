"""Floor 4: a world to run nodes in.

Virtual time, simulated host and runtime, embedded API server, faults.

Open `world/world.py` first, then `play/play.py`, which plays a scenario in a world. `cluster` serves tests of other
programs. Imports nothing of the command line.
"""
