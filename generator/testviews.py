"""placeholder"""
from typing import Any
def test_view(back: Any, schema: Any, package: str) -> Any: return None
