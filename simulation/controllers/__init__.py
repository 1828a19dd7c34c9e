"""The controllers beside a cluster's API server: scheduler, node lifecycle, signer.

They ask the server as any client does.

Open `store_follower.py` first: all of them follow the store and send requests. `scheduling.py` has the rules that
`scheduler.py` carries out.
"""
