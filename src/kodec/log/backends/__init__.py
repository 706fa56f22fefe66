"""Work done for every record, implemented twice, in pure Python and as native kernels. One contract."""
