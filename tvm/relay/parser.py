"""Reading Relay's text, under the module name that scripts know."""

from .span_check import SpanCheck as SpanCheck
from .text_parser import fromtext as fromtext
from .text_parser import parse as parse
from .text_parser import parse_expr as parse_expr
