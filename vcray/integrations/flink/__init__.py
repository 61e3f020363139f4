"""Flink: the FlinkDeployment of its operator, and clusters that Flink makes on Kubernetes by itself."""
