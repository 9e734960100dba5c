"""The command `odradek`: one command for a laptop, one for each service, and the REST routes from a shell."""
