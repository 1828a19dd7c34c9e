"""Which CPUs a container has for itself: `cpuManagerPolicy: static` (spec 10.8).

Open `static.py` first: hints, and the choice for a request. It takes CPUs with `packing.py` or `distributing.py`. Pure.
"""
