"""Documents to objects and back: YAML, JSON, and the place of each fault.

Open `codec.py` first: it decodes into the structs of `config/objects`. `text.py` reads YAML and JSON. `walk.py` finds
unknown fields and faults with their paths. `places.py` names a place in a document, and `lines.py` knows its line.
`limits.py` says what one document may cost.
"""
