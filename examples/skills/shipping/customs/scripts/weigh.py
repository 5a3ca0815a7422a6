"""Add up weights in grams, and print them in the kilograms that the form asks for."""

import sys

print(f"{sum(map(int, sys.argv[1:])) / 1000:.1f} kg")
