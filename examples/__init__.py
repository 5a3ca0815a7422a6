"""Small servers that the README and the documentation show; every one runs in the tests."""
