from typing import Mapping, Optional

__version__: str

def answer(question: str, files: Optional[Mapping[str, bytes]] = None) -> str: ...
