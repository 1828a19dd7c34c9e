"""Scenarios at work: played, judged, replayed and shrunk.

Open `play.py` first. `fault_injection.py` brings the faults, `world_rules.py` judges whole worlds, `shrink.py` makes a
failure small, `replay.py` plays it again.
"""
