"""What the pipeline runs on Spark, one job a file."""
