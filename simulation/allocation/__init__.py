"""Which devices a claim gets on a node: allocation by structured parameters (KEP-4381).

Open `search.py` first: it tries devices until all requests of all claims are met. `offered.py` has what drivers offer
in slices, and `wanted.py` what claims want. `selectors.py` asks rules in CEL; all else is pure. All work on JSON
objects of resource.k8s.io/v1.
"""
