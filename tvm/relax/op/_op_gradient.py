"""The gradient rules of the operators, under the module name that TVM gives them."""

from .gradients.attention import *  # noqa: F403
from .gradients.backward import *  # noqa: F403
from .gradients.convolution import *  # noqa: F403
from .gradients.elementwise import *  # noqa: F403
from .gradients.indexing import *  # noqa: F403
from .gradients.linear import *  # noqa: F403
from .gradients.manipulate import *  # noqa: F403
from .gradients.nn import *  # noqa: F403
from .gradients.norm import *  # noqa: F403
from .gradients.pooling import *  # noqa: F403
from .gradients.reduction import *  # noqa: F403
