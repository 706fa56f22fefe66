"""The native back end: kernels of rows and columns, a plain C core under a Cython face."""
