"""What the server does to an object between the request and the store."""
