"""What the writers of GPU source share: statements and expressions in the manner of C."""
