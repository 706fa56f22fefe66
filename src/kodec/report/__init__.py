"""Reports: what is in log directories, as a page or as data; pyarrow, jinja2 and pygal are needed."""
