"""The objects: `store` keeps them and tells watchers, `selection` selects by labels and fields.

`structs` reads them as frozen structs for clients in this process.
"""
