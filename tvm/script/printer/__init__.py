"""TVMScript printing: documents, their text, and the rules that make them."""

from .config import PrinterConfig
from .doc_printer import to_python_script
from .docsifier import Docsifier, Frame
from .entry import script, script_of

__all__ = ["Docsifier", "Frame", "PrinterConfig", "script", "script_of", "to_python_script"]
