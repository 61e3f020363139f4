"""What a server demands of objects of its own kinds beyond their types, each rule in its words and at its path."""
