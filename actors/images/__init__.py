"""Images: only `ImagePullActor` pulls them, and only `ImageGCActor` removes them.

Open `pull.py` first, then `credentials.py` and `gc.py`. `pull_rules.py` and `gc_rules.py` are the decisions, pure.
`leases.py` knows which images a pod needs before a container uses them.
"""
