"""Reports about log directories, as a page or as data; need pyarrow, jinja2 and pygal."""
