"""Bursts of pods on one node, beside other agents and a bare client of the runtime.

Open `__main__.py` first: what is measured, and how. `bare_client.py` is the floor that the runtime sets. `report.py`
makes the table and the plot.
"""
