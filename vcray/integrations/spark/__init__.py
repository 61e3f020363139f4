"""Spark: the Spark operator's SparkApplication, and what spark-submit makes on Kubernetes by itself."""
