"""How schema names become names in C that neither a language nor a kernel has for itself."""

from __future__ import annotations

from kodec.generator.reserved import Reserved

__all__ = ["c_name"]

# words of C, of C++ and of Cython, what headers define in lower case, and members that units and rows have
_MEMBERS = Reserved(
    """
    auto break case char const continue default do double else enum extern float for goto if inline int long
    register restrict return short signed sizeof static struct switch typedef union unsigned void volatile
    while asm typeof bool true false NULL and or not xor class new delete this
    as assert async await def del elif except finally from global import in is lambda None nonlocal pass raise
    try with yield True False cdef cpdef ctypedef cimport include gil nogil unix linux errno stdin stdout
    rows unit_start unit_size checksum checksum_stored checksum_field checksum_of position size checksum_ok
    """.split()  # noqa: SIM905  # ninety words on ninety lines are no list to read
)


def c_name(ident: str) -> str:
    """The member of a struct that a field is."""
    return _MEMBERS.free(ident)
