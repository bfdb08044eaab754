# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""GPU streams of Python's libraries."""

import sys


def address(stream):
    """Returns the handle of a stream, and whether it is a hipStream_t. Takes torch.cuda.Stream, CuPy's and Numba's
    streams, objects with __cuda_stream__() and, as an int, a cudaStream_t."""
    torch = sys.modules.get("torch")
    is_hip = getattr(getattr(torch, "version", None), "hip", None) is not None
    if isinstance(stream, int):
        return stream, is_hip
    if hasattr(stream, "cuda_stream"):  # torch's, on AMD, too
        return stream.cuda_stream, is_hip
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        return int((protocol() if callable(protocol) else protocol)[1]), False
    for name in ("ptr", "handle"):
        handle = getattr(stream, name, None)
        handle = getattr(handle, "value", handle)
        if isinstance(handle, int):
            return handle, False
    raise TypeError(f"takt: {stream!r} is not known as a GPU stream; pass its cudaStream_t as an int")
