# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Fakes the part of torch that gpu_torch.py uses, on the simulated driver."""

import contextlib
import ctypes
import types

AVAILABLE = True
driver = ctypes.CDLL("libcuda.so.1")
driver.simulated_use_primary()
__version__, version = "0", types.SimpleNamespace(cuda="0")
current = None


class Stream:
    def __init__(self):
        driver.simulated_use_primary()
        made = ctypes.c_void_p()
        driver.cuStreamCreate(ctypes.byref(made), 1)
        self.cuda_stream = made.value


class CUDAGraph:
    replay = staticmethod(lambda: None)


class Matrix:
    def __matmul__(self, other):
        return self


@contextlib.contextmanager
def stream(used):
    global current
    current, before = used, current
    yield
    current = before


@contextlib.contextmanager
def graph(made, stream):
    handle = ctypes.c_void_p(stream.cuda_stream)
    driver.cuStreamBeginCapture_v2(handle, 0)
    with globals()["stream"](stream):
        yield
    assert driver.cuStreamEndCapture(handle, ctypes.byref(ctypes.c_void_p())) == 0


def ones(*shape, device):
    return Matrix()


cuda = types.SimpleNamespace(is_available=lambda: AVAILABLE, Stream=Stream, CUDAGraph=CUDAGraph, stream=stream, graph=graph,
                             current_stream=lambda: current, synchronize=driver.cuCtxSynchronize)
