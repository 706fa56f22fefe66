"""Log directories in Apache Spark; the only folder that imports pyspark."""
