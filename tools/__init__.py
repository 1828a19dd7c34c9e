"""Programs of developers: they write code of this project, and no agent needs them.

`protos.py` makes the modules of every `.proto`; open it first.
"""
