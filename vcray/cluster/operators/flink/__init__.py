"""The stand-in for Flink's operator, and for the JobManagers that it starts. It has no gang support."""
