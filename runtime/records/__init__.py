"""Records on disk: a ring of files, readable up to the last second.

That holds whatever happens to their writer.

Open `segments.py` first: it has the format of a file. `ring.py` keeps the files of a folder within a size, and
`background.py` writes them on a thread of its own. What the bytes mean is not known here.
"""
