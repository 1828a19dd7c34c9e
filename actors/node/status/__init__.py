"""The actors that write the Node object and the Lease (spec 9). The rules are in `actors/node_object`.

Open `actor.py` first: `NodeStatusActor` decides when to write. `writer.py` holds the object and writes it, `survey.py`
reads the machine, `lease.py` renews the Lease.
"""
