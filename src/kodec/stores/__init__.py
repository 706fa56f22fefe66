"""Where files are: file systems of this machine and object stores, for logs and files of any format."""
