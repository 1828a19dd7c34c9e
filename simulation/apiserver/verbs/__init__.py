"""How requests are carried out: a module for each verb, and for what only some resources or parts have."""
