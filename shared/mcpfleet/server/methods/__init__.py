"""The methods that serve what authors registered: each group reads the params, finds what they name, and calls it."""
