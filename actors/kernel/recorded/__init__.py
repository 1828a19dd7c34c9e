"""Records what reaches actors from outside, and plays it again.

`recorder.py` has the theory: open it first. `edges.py` stands between actors and their capabilities while they are
recorded, `replayed_edges.py` in a replay; `replayer.py` takes its steps, and answers the calls of its actors.
"""
