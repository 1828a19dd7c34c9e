"""Events of the node and the history of its pods: what happened, in words for people.

Open `recorder.py` first: `EventRecorderActor` counts events, logs them and sends them to the API server.
`correlation.py` decides which of them are one. `historian.py` keeps what `actorlet explain` shows.
"""
