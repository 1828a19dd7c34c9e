"""The pod resources API: who on this machine may ask what pods have for themselves (spec 10.8, 16).

Open `capability.py` for the questions, `server.py` for the socket.
"""
