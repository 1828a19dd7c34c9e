"""Programs of the node's owner that know credentials for registries (spec 6.3).

Open `capability.py` first. `programs.py` runs them, `config_files.py` reads which there are.
"""
