"""Plays records of nodes again, with the actors of this version.

Open `player.py` first.
"""
