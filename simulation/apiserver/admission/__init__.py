"""Admission: the plugins that change or refuse a write, one file each.

Open `chain.py` first; it has their order.
"""
