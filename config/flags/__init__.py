"""The command line of a kubelet (spec 12.3).

Open `command_line.py` first: it reads flags as a kubelet does. `table.py` has every flag; `values.py` turns the text of
a flag into a value.
"""
