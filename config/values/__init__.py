"""Values with a notation of their own: quantities, durations, ages, names, hashes. Pure.

Open `quantity.py` first: "500m" and "1.5Gi" as numbers.
"""
