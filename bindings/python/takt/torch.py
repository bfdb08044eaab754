# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Regions of a training loop in PyTorch, without changes to its model."""

import functools
import inspect
import threading
import types
import weakref

import torch

from . import _takt

_PHASES = ("Forward", "Backward", "Optimizer")  # have a kind
_PREDEFINED = (*_PHASES, "Epoch", "Batch", "Validation", "Checkpoint", "Comm", "IO", "Other")
# From PyTorch 2.1 on, hooks run after an exception, too.
_ALWAYS_CALLED = "always_call" in inspect.signature(torch.nn.Module.register_forward_hook).parameters
_CONTAINERS = (torch.nn.ModuleList, torch.nn.ModuleDict)  # are not called themselves


def watch(model, optimizer=None, loader=None, *, depth=1, backward_modules=False):
    """Times Forward, by module, Backward, the optimizer's step, and the wait for each batch as IO:

        with takt.torch.watch(model, optimizer, loader) as batches:
            for x, y in batches:
                with takt.Batch as batch: ...

    depth: modules this deep in the model are regions in Forward; 0: none.
    backward_modules: the deepest of these are regions in Backward, too, from the gradient of their output to that of
    their first input. PyTorch's hooks on tensors, which this needs, cost more than all else here. Gradients that
    another thread computes, as on GPUs, have only the region Backward.
    If the model is on a GPU, regions also have the span on its current stream.

    Uses hooks. All calls of torch.autograd.backward() in the process, such as loss.backward(), are Backward while
    something is watched. Several models share these regions. Copies of the model, also pickled ones, are not watched;
    load those where takt is installed. Compile or script a model before, and watch it with depth=0.
    Returns a Watch; its remove(), or the end of `with`, removes everything again. Needs PyTorch 1.13."""
    return Watch(model, optimizer, loader, depth, backward_modules)


class Watch:
    """Result of watch(): iterates over the loader's batches."""

    def __init__(self, model, optimizer, loader, depth, backward_modules):
        if not isinstance(depth, int):
            raise TypeError("takt: depth is an int")
        if optimizer is not None and not callable(getattr(optimizer, "step", None)):
            raise TypeError("takt: the optimizer has no step(); to watch several, watch each with its model")
        self._model = model
        self._loader = loader
        self._removals = []
        parameter = next(model.parameters(), None)
        self._device = parameter.device if parameter is not None and parameter.is_cuda else None
        self._regions = {}
        self._threads = _Threads()
        try:
            self._hook(model, "Forward", False)
            for name, module, is_deepest in _modules(model, depth, {model}):
                if name in _PREDEFINED:
                    name += " (module)"
                self._hook(module, name, backward_modules and is_deepest)
        except BaseException:
            self.remove()
            raise
        self._removals.append(_watch_backward(self))
        if optimizer is not None:
            self._removals.append(self._watch_optimizer(optimizer))

    def __iter__(self):
        if self._loader is None:
            raise TypeError("takt: watch() got no loader")
        return _Batches(iter(self._loader), self._threads)

    def __len__(self):
        return len(self._loader)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.remove()

    def remove(self):
        """Removes all hooks, and ends the regions of forward passes on this thread."""
        self._threads.here.end_all()
        while self._removals:
            self._removals.pop()()

    def region(self, name):
        """Returns the region of a name, on the current stream of the model's device."""
        stream = None if self._device is None else torch.cuda.current_stream(self._device)
        key = name if stream is None else (name, stream.cuda_stream)
        known = self._regions.get(key)
        if known is None:
            known = self._regions[key] = _takt.region(name, kind=None if name in _PHASES else "compute", stream=stream)
        return known

    def _hook(self, module, name, in_backward):
        # The hooks run for each module in each step, so they are written to be short.
        threads, grad_enabled = self._threads, torch.is_grad_enabled
        region = self.region if self._device is not None else functools.partial(_same, self.region(name))
        is_model = module is self._model

        def before(_, inputs):
            here = threads.here
            if is_model and not _ALWAYS_CALLED:
                here.end_all()  # what an exception left open
            here.open.append((module, region(name).begin()))
            if in_backward and grad_enabled():
                tensor = _first_with_gradient(inputs)
                # The gradient of the last module's output begins that one, which ends this one. A leaf has no module.
                if tensor is not None and not tensor.is_leaf and tensor is not here.output():
                    tensor.register_hook(end_module)

        def after(_, inputs, output):
            here = threads.here
            here.end(module)
            if in_backward and grad_enabled():
                tensor = _first_with_gradient(output)
                if tensor is not None:
                    here.output = weakref.ref(tensor)
                    tensor.register_hook(begin_module)

        def begin_module(_):
            here = threads.here
            if here.in_backward:
                if here.module is not None:
                    here.module_region.end()
                here.module = module
                here.module_region = region(name).begin()

        def end_module(_):
            here = threads.here
            if here.module is module:
                here.end_module()

        options = {"always_call": True} if _ALWAYS_CALLED else {}
        self._removals.append(module.register_forward_pre_hook(_Hook(before)).remove)
        self._removals.append(module.register_forward_hook(_Hook(after), **options).remove)

    def _watch_optimizer(self, optimizer):
        # A method, as learning-rate schedulers require; they may wrap it again.
        step, had_own = optimizer.step, "step" in vars(optimizer)
        is_on = True

        @functools.wraps(getattr(step, "__func__", step))
        def timed(_, *args, **kwargs):
            if not is_on:
                return step(*args, **kwargs)
            with self.region("Optimizer"):
                return step(*args, **kwargs)

        timed_step = types.MethodType(timed, optimizer)
        optimizer.step = timed_step

        def remove():
            nonlocal is_on
            is_on = False
            if vars(optimizer).get("step") is timed_step:
                if had_own:
                    optimizer.step = step
                else:
                    del optimizer.step
        return remove


class _Batches:
    def __init__(self, batches, threads):
        self._batches = batches
        self._threads = threads
        self._region = _takt.region("IO")

    def __iter__(self):
        return self

    def __next__(self):
        self._threads.here.end_all()  # what an exception left open
        with self._region:
            return next(self._batches)


def _modules(module, depth, seen, prefix=""):
    """Yields name, module and whether it is one of the deepest, for modules at most `depth` deep. Containers that are
    not called do not count. A module with several names has the first."""
    for name, child in module.named_children() if depth > 0 else ():
        if child in seen:
            continue
        seen.add(child)
        if isinstance(child, _CONTAINERS):
            yield from _modules(child, depth, seen, f"{prefix}{name}.")
            continue
        inner = list(_modules(child, depth - 1, seen, f"{prefix}{name}."))
        yield prefix + name, child, not inner
        yield from inner


class _Threads(threading.local):
    """The passes of each thread."""

    def __init__(self):
        self.here = _Here()


class _Here:
    """The passes of this thread."""

    def __init__(self):
        self.open = []  # modules in the forward pass, outermost first, with their regions
        self.output = _nothing  # of the last module with a hook, as a weak reference
        self.in_backward = False
        self.module = None  # in the backward pass
        self.module_region = None

    def end(self, module):
        """Ends the regions of a module and of those in it that an exception left open."""
        opened = self.open
        if opened and opened[-1][0] is module:
            opened.pop()[1].end()
        elif any(each[0] is module for each in opened):  # else hooked during the call
            while opened[-1][0] is not module:
                opened.pop()[1].end()
            opened.pop()[1].end()

    def end_all(self):
        while self.open:
            self.open.pop()[1].end()

    def end_module(self):
        if self.module is not None:
            self.module_region.end()
            self.module = self.module_region = None


def _same(region, _):
    return region


def _nothing(*_):
    return None


class _Hook:
    """A hook that a copy of the module, also a pickled one, does not have."""

    def __init__(self, function):
        self._function = function

    def __call__(self, *values):
        self._function(*values)

    def __reduce__(self):
        return _no_hook, ()


def _no_hook():
    return _nothing


def _first_with_gradient(values):
    """Returns the first tensor that gets a gradient, or None."""
    if isinstance(values, (tuple, list)):
        for each in values:
            if getattr(each, "requires_grad", False):
                return each
            if isinstance(each, (tuple, list, dict)):
                found = _first_with_gradient(each)
                if found is not None:
                    return found
        return None
    if isinstance(values, dict):
        return _first_with_gradient(tuple(values.values()))
    return values if getattr(values, "requires_grad", False) else None


_watching = []
_original = None  # torch.autograd.backward() when it was replaced
_is_replaced = False


def _watch_backward(watch_):
    """Times torch.autograd.backward(), which Tensor.backward() calls. Returns a function that stops it."""
    global _original, _is_replaced
    if not _is_replaced:
        _original, _is_replaced = torch.autograd.backward, True
        torch.autograd.backward = functools.wraps(_original)(_timed_backward)
    _watching.append(watch_)

    def remove():
        global _is_replaced
        _watching.remove(watch_)
        # Another tool may have replaced it again, and calls _timed_backward(), which then does nothing of its own.
        if not _watching and torch.autograd.backward is _timed_backward:
            torch.autograd.backward, _is_replaced = _original, False
    return remove


def _timed_backward(*args, **kwargs):
    # Nothing is watched any more, or a checkpoint runs another pass.
    if not _watching or _watching[-1]._threads.here.in_backward:
        return _original(*args, **kwargs)
    passes = [each._threads.here for each in _watching]
    for each in passes:
        each.end_all()  # what an exception left open
    with _watching[-1].region("Backward"):
        for each in passes:
            each.in_backward = True
        try:
            return _original(*args, **kwargs)
        finally:
            for each in passes:
                each.end_module()
                each.in_backward = False
