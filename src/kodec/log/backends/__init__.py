"""What is done for every record, in two implementations: pure Python and native kernels. One contract."""
