# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import Any, Generic, Literal, TypeVar, final, overload

_F = TypeVar("_F", bound=Callable[..., Any])
_B = TypeVar("_B")
_Kind = Literal["compute", "comm", "io", "wait", "other"]

@final
class Region:
    """What to time: for `with`, as a decorator, or by begin() and end(). One object may be open several times, also on
    several threads; end() and the others are for this thread's newest one. In generators, where the regions of one
    object may end in any order, make an object for each: `with takt.region(name):`."""

    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str: ...
    def __enter__(self) -> Region: ...
    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> Literal[False]: ...
    def __call__(self, function: _F) -> _F: ...
    def begin(self) -> Region:
        """Starts a region."""
    def end(self) -> None:
        """Ends it, on any thread. If no region of this object is open, ends this thread's innermost one of its name."""
    def lap(self, next: str | Region) -> None:
        """Ends it and starts one of this name, with one clock reading."""
    def items(self, n: int) -> None:
        """Adds n >= 1 samples; those of a Batch make throughput. On the thread that started the region."""
    def bytes(self, n: int) -> None:
        """Adds n >= 1 bytes moved. On the thread that started the region."""

class TimedCall:
    """A function with a region around each call; a method, as an attribute of a class. Has the function's attributes."""

    region: Region | Callable[[], Region] | None
    """None: calls are not timed."""
    def __init__(self, function: Any, region: Region | Callable[[], Region] | None, method: str = ..., /) -> None:
        """method: calls the function's attribute of this name, looked up at each call."""
    def __call__(self, *arguments: Any, **keywords: Any) -> Any: ...

@overload
def region(name: str | Region, *, kind: _Kind | None = None, stream: Any = None, every: int | None = None) -> Region:
    """Returns what to time. As a bare decorator, @takt.region, it is named by the function.

    kind: None is that of the name, or "other"; the first one of a name wins.
    stream: a GPU stream, whose span between two events is timed too: of PyTorch, CuPy, Numba, an object with
    __cuda_stream__(), or a cudaStream_t as an int. Never synchronises.
    every: time only every n-th region; the others are counted.
    Beyond 4,000 names in a process, all others count as "(overflow)"."""
@overload
def region(function: _F) -> _F: ...
def span(name: str | Region, *, kind: _Kind | None = None) -> Region:
    """Returns a duration to time that may overlap others, as between tasks of asyncio. It has no regions below it, and
    counts below the region that is open at its end. Decorated coroutine functions are spans."""
def metric(name: str, value: float, /, step: int | None = None) -> None:
    """Records a number at the thread's current step, or at `step`."""
def record(name: str | Region, seconds: float, /) -> None:
    """Adds a region that was timed elsewhere."""
def step(number: int, /) -> None:
    """Sets the step number of the thread's current or next Batch."""
def name_thread(name: str, /) -> None:
    """Names the calling thread in reports."""
def set_enabled(on: bool, /) -> None:
    """Switches recording off and on for the whole process."""
def enabled() -> bool: ...
def measure(run: Run, name: str, function: Callable[[], object], warmup: int, runs: int, interval: float, time_limit: float,
            items: int, features: dict[str, float], /) -> dict[str, Any]: ...
def snapshot_json() -> str: ...
def set_program_file(path: str, /) -> None: ...

class Run:
    def __init__(self, name: str, options: dict[str, str], /) -> None: ...
    def identity(self) -> dict[str, Any]: ...
    def address(self) -> int: ...
    def param(self, name: str, value: float | str, /) -> None: ...
    def tag(self, name: str, value: str, /) -> None: ...
    def group(self, name: str, number: int, /) -> None: ...
    def fail(self) -> None: ...
    def print(self) -> None: ...
    def close(self) -> bool: ...

class Trials(Generic[_B]):
    def __init__(self, run: Run, loader: Iterable[_B], options: dict[str, Any], /) -> None: ...
    def __iter__(self) -> Iterator[_B]: ...
    def __next__(self) -> _B: ...
