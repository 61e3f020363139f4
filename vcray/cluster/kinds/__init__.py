"""What the server knows of Kubernetes' own kinds: their types, defaults, conversions and the checks of their fields."""
