"""Images: only `ImagePullActor` pulls them, and only `ImageGCActor` removes them.

Open `pull.py` first, then `credentials.py` and `gc.py`. `pull_rules.py` and `gc_rules.py` are the decisions, pure.
`pull_book.py` knows who may use which image, and `leases.py` which images a pod needs before a container uses them.
"""
