"""Images: resizing, grids, dilation."""

from .image import affine_grid as affine_grid
from .image import crop_and_resize as crop_and_resize
from .image import dilation2d as dilation2d
from .image import grid_sample as grid_sample
from .image import resize1d as resize1d
from .image import resize2d as resize2d
from .image import resize3d as resize3d
