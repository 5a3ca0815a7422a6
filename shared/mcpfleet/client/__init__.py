"""The client: both eras of the protocol behind one face."""
