"""The record of a node as bytes: its entries, values, comparisons and secrets.

Open `format.py` first: it writes and reads the entries that `actors.kernel.recorded` makes.
"""
