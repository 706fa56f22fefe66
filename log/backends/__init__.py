"""What is done for every record, twice: in pure Python, and by the native kernels. One contract."""
