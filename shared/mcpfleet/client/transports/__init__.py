"""How messages reach a server and come back."""
