"""State files as agents of earlier versions have written them: a directory for each commit.

`test_kept_state` reads them. They are kept as they are; a change of the format adds a directory.
"""
