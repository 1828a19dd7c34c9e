"""What runs beside the API server of a cluster and asks it as any client does: scheduler, node lifecycle, signer.

Open `store_follower.py` first: all of them follow the store and send requests. `scheduling.py` has the rules that
`scheduler.py` carries out.
"""
