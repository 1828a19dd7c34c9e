"""Recorded nights as scenarios of the simulated world.

Open `seen.py` first: what a replay shows of pods and their runtime. `scenario.py` makes a scenario of that.
"""
