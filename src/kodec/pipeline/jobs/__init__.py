"""The jobs of the pipeline on Spark, one per file."""
