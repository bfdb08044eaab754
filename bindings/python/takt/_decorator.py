# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Regions as decorators."""

import functools
import inspect

from . import _takt


def restore(name, kind, every, is_span):
    """Makes a region again that was copied or pickled."""
    return _takt.span(name, kind=kind) if is_span else _takt.region(name, kind=kind, every=every if every > 1 else None)


def wrap(region, function):
    """Returns the function with a region around each call; `region` is None for one with the function's name.

    Of a coroutine, the span from its start to its end is recorded, because other tasks run meanwhile. Of a generator,
    each resumption is a region: the time between them is the caller's."""
    if isinstance(function, (type, staticmethod, classmethod)) or not callable(function):
        raise TypeError("takt: a region decorates a function; write @staticmethod, @classmethod and @property above it, and "
                        "decorate the methods of a class")
    if inspect.isasyncgenfunction(function):
        raise TypeError("takt: an asynchronous generator cannot be timed; use `with takt.span(name):` in it")
    name = getattr(function, "__qualname__", type(function).__name__) if region is None else region.name
    if inspect.iscoroutinefunction(function):
        @functools.wraps(function)
        async def coroutine(*args, **kwargs):
            with _takt.span(name):
                return await function(*args, **kwargs)
        return coroutine
    if region is None:
        region = _takt.region(name)
    if inspect.isgeneratorfunction(function):
        @functools.wraps(function)
        def generator(*args, **kwargs):
            return (yield from _Resumptions(region, function(*args, **kwargs)))
        return generator

    @functools.wraps(function)
    def call(*args, **kwargs):
        with region:
            return function(*args, **kwargs)
    return call


class _Resumptions:
    """A generator with a region around each resumption."""

    def __init__(self, region, generator):
        self._region = region
        self._generator = generator

    def __iter__(self):
        return self

    def __next__(self):
        with self._region:
            return next(self._generator)

    def send(self, value):
        with self._region:
            return self._generator.send(value)

    def throw(self, *exception):
        with self._region:
            return self._generator.throw(*exception)

    def close(self):
        with self._region:
            self._generator.close()
