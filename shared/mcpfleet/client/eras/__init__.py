"""The two eras of the protocol, as a client speaks them."""
