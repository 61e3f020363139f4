"""What a schema says of an object: its faults, its defaults, its unknown fields, its rules."""
