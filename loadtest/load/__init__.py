"""A fleet under the load of real clients of both eras, measured for minutes."""
