"""PyTorch layers, optimizers and converters for training recipes.

The package needs the extra `fp9[torch]`.
"""

from fp9.system.missing import install_hint

try:
    import torch as _torch  # noqa: F401
    import xxhash as _xxhash  # noqa: F401
except ImportError as error:
    raise ImportError(f"fp9_ml.torch needs PyTorch and xxhash; install them with: {install_hint('torch')}") from error

from fp9_ml.torch.attention import MultiheadAttention
from fp9_ml.torch.blocks import BlockLinear, convert_blocks
from fp9_ml.torch.calibration import calibrate
from fp9_ml.torch.convert import convert
from fp9_ml.torch.layers import Conv2d, Linear
from fp9_ml.torch.norms import retune_bn
from fp9_ml.torch.optimizer import RoundOffOptimizer
from fp9_ml.torch.recording import record
from fp9_ml.torch.scaled_mm import scaled_linear, scaled_mm
from fp9_ml.torch.scaler import GradScaler

__all__ = [
    "BlockLinear",
    "Conv2d",
    "GradScaler",
    "Linear",
    "MultiheadAttention",
    "RoundOffOptimizer",
    "calibrate",
    "convert",
    "convert_blocks",
    "record",
    "retune_bn",
    "scaled_linear",
    "scaled_mm",
]
