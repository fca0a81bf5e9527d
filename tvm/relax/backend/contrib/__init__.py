"""Libraries of devices that are no family of their own."""
