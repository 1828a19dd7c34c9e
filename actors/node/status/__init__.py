"""Who writes the Node object and the Lease (spec 9). The rules are in `actors/node_object`.

Open `actor.py` first: `NodeStatusActor` decides when to write. `writer.py` is the object as the API shows it and the
way there, `survey.py` looks at the machine, `lease.py` renews the Lease.
"""
