# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""G18: regions on streams of an installed torch: gpu_torch.py <libgpu_regions.so>

Prints a row that says so if there is no torch or it has no GPU. Needs only Python 3.8 and its standard library."""

import ctypes
import sys
import threading

from gpu_table import left_out, row

REGIONS = 200  # in each of the groups below


def load_torch():
    """Returns (the module, None), or (None, reason)."""
    try:
        import torch
    except Exception as error:  # a broken installation may raise anything
        return None, f"torch cannot be imported: {type(error).__name__}"
    return (torch, None) if torch.cuda.is_available() else (None, "torch is there, and finds no GPU")


class Regions:
    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        self.library.regions_begin.argtypes = [ctypes.c_void_p]
        self.library.regions_timed.restype = ctypes.c_long
        self.library.regions_us.restype = ctypes.c_double

    def around(self, torch, work):
        """Runs regions as a program does: on torch's current stream."""
        self.library.regions_begin(torch.cuda.current_stream().cuda_stream)
        work()
        self.library.regions_end()


def group(torch, regions, what, use):
    before = regions.library.regions_timed()
    use()
    torch.cuda.synchronize()
    timed = regions.library.regions_timed() - before
    return row("G18", f"{what}: regions with a span", str(REGIONS), str(timed), timed == REGIONS)


def on_side_stream(torch, regions, work):
    with torch.cuda.stream(torch.cuda.Stream()):
        for _ in range(REGIONS):
            regions.around(torch, work)


def on_thread(torch, regions, work):
    def run():
        on_side_stream(torch, regions, work)
        torch.cuda.synchronize()
        regions.library.regions_timed()  # collects the thread's own spans: Python joins a thread before it has ended
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()


def captured(torch, regions, work):
    """A graph that contains a region, which has no span, and regions around its replays."""
    side = torch.cuda.Stream()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=side):
        regions.around(torch, work)
    with torch.cuda.stream(side):
        for _ in range(REGIONS):
            regions.around(torch, graph.replay)


def checks(torch, regions):
    values = torch.ones(256, 256, device="cuda")

    def work():
        return values @ values
    work()
    torch.cuda.synchronize()
    for what, use in (("a side stream of torch's", on_side_stream), ("a thread of its own", on_thread),
                      ("a graph of torch's, and its replays", captured)):
        yield group(torch, regions, what, lambda use=use: use(torch, regions, work))
    timed = regions.library.regions_timed()
    yield row("G18", "span of a region, mean", "", f"{regions.library.regions_us() / max(timed, 1):.3f} us", None)


def main():
    torch, why = load_torch()
    if torch is None:
        print("\t".join(left_out("G18", "regions on torch's streams", why)))
        return
    print("\t".join(row("G18", "torch", "", f"{torch.__version__}, CUDA {torch.version.cuda}", None)), flush=True)
    for each in checks(torch, Regions(sys.argv[1])):
        print("\t".join(each), flush=True)


if __name__ == "__main__":
    main()
