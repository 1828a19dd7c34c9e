"""What is special about each kind of object: defaults, admission, what may change, how it goes. One file per kind."""
