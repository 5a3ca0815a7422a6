"""What operators measure of a fleet, as Prometheus reads it."""
