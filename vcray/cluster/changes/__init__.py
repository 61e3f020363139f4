"""From an object and a patch to the object that is wanted, and who owns which of its fields."""
