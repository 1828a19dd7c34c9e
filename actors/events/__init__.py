"""Events of the node and the history of its pods: what happened, in words for people.

Open `recorder.py` first: `EventRecorderActor` counts events, logs them and sends them to the API server. `sending.py`
decides which leave the node. `historian.py` keeps what `actorlet explain` shows, in the words of `history_words.py`.
"""
