"""Run a kernel on an OpenCL platform of this machine, such as pocl on the processor."""

from __future__ import annotations

import ctypes
import ctypes.util
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

_ALL_DEVICES, _WRITE, _COPY, _BUILD_LOG = 0xFFFFFFFF, 1 << 0, 1 << 5, 0x1183


class Device:
    """The first device of the first platform. Skips the test if there is none."""

    def __init__(self) -> None:
        name = ctypes.util.find_library("OpenCL")
        if name is None:
            pytest.skip("OpenCL (ocl-icd, pocl) is not installed")
        self._cl = ctypes.CDLL(name)
        for function in ("clCreateContext", "clCreateCommandQueue", "clCreateProgramWithSource", "clCreateKernel"):
            getattr(self._cl, function).restype = ctypes.c_void_p
        self._cl.clCreateBuffer.restype = ctypes.c_void_p
        platform, count = ctypes.c_void_p(), ctypes.c_uint()
        self._cl.clGetPlatformIDs(1, ctypes.byref(platform), ctypes.byref(count))
        if not count.value:
            pytest.skip("no platform of OpenCL, such as pocl, is installed")
        self._device = ctypes.c_void_p()
        kind = ctypes.c_ulonglong(_ALL_DEVICES)
        self._call("clGetDeviceIDs", platform, kind, 1, ctypes.byref(self._device), None)
        self._context = self._made("clCreateContext", None, 1, ctypes.byref(self._device), None, None)
        self._queue = self._made("clCreateCommandQueue", self._context, self._device, ctypes.c_ulonglong(0))

    def _call(self, function: str, *arguments: Any) -> None:
        status = getattr(self._cl, function)(*arguments)
        assert status == 0, (function, status)

    def _made(self, function: str, *arguments: Any) -> ctypes.c_void_p:
        status = ctypes.c_int()
        made = ctypes.c_void_p(getattr(self._cl, function)(*arguments, ctypes.byref(status)))
        assert status.value == 0, (function, status.value)
        return made

    def run(self, source: str, kernel: str, arrays: Sequence[NDArray[Any]], size: int) -> None:
        """Run a kernel over `size` work items. Each argument of the kernel is an array, which receives the results."""
        text = ctypes.c_char_p(source.encode())
        program = self._made("clCreateProgramWithSource", self._context, 1, ctypes.byref(text), None)
        status = self._cl.clBuildProgram(program, 1, ctypes.byref(self._device), b"-cl-std=CL1.2", None, None)
        log = ctypes.create_string_buffer(1 << 14)
        self._cl.clGetProgramBuildInfo(program, self._device, _BUILD_LOG, ctypes.c_size_t(len(log)), log, None)
        assert status == 0, log.value.decode()
        made = self._made("clCreateKernel", program, kernel.encode())
        buffers = []
        for place, array in enumerate(arrays):
            pointer = ctypes.c_void_p(array.ctypes.data)
            flags = ctypes.c_ulonglong(_WRITE | _COPY)
            buffers.append(self._made("clCreateBuffer", self._context, flags, ctypes.c_size_t(array.nbytes), pointer))
            self._call("clSetKernelArg", made, place, ctypes.c_size_t(8), ctypes.byref(buffers[-1]))
        items = ctypes.c_size_t(size)
        self._call("clEnqueueNDRangeKernel", self._queue, made, 1, None, ctypes.byref(items), None, 0, None, None)
        for array, buffer in zip(arrays, buffers, strict=True):
            pointer, bytes_ = ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(array.nbytes)
            self._call(
                "clEnqueueReadBuffer", self._queue, buffer, 1, ctypes.c_size_t(0), bytes_, pointer, 0, None, None
            )
        assert isinstance(arrays[0], np.ndarray)
