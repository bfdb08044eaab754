# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Regions of a training loop in PyTorch, without changes to its model."""

import copyreg
import functools
import inspect
import threading
import types
import weakref

import torch

from . import _takt

_PHASES = ("Forward", "Backward", "Optimizer")  # have a kind
_PREDEFINED = (*_PHASES, "Epoch", "Batch", "Validation", "Checkpoint", "Comm", "IO", "Other")
_NAMES = ("__module__", "__qualname__", "__doc__")  # of a class
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

    While they are watched, modules have a class derived from their own, as by torch.nn.utils.parametrize; it times their
    calls, and copies do not have it. All calls of torch.autograd.backward() in the process, such as loss.backward(), are
    Backward while something is watched. Several models share these regions. Compile or script a model before, and watch it
    with depth=0. Returns a Watch; its remove(), or the end of `with`, removes everything again. Needs PyTorch 1.13."""
    return Watch(model, optimizer, loader, depth, backward_modules)


class Watch:
    """Result of watch(): iterates over the loader's batches."""

    def __init__(self, model, optimizer, loader, depth, backward_modules):
        if not isinstance(depth, int):
            raise TypeError("takt: depth is an int")
        if optimizer is not None and not callable(getattr(optimizer, "step", None)):
            raise TypeError("takt: the optimizer has no step(); to watch several, watch each with its model")
        self._loader = loader
        self._removals = []
        self._regions = _Regions(next(model.parameters(), None))
        try:
            self._time(model, "Forward")
            for name, module, is_deepest in _modules(model, depth, {model}):
                if name in _PREDEFINED:
                    name += " (module)"
                self._time(module, name)
                if backward_modules and is_deepest:
                    self._hook_backward(module, name)
            self._removals.append(_watch_backward(self._regions.held("Backward"), backward_modules))
            if optimizer is not None:
                self._removals.append(_watch_optimizer(optimizer, self._regions.held("Optimizer")))
        except BaseException:
            self.remove()
            raise

    def __iter__(self):
        return _Batches(iter(self._given_loader()))

    def __len__(self):
        return len(self._given_loader())

    def __bool__(self):
        return True

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.remove()

    def remove(self):
        """Stops all timing. Regions that are open end with their calls."""
        while self._removals:
            self._removals.pop()()

    def _given_loader(self):
        if self._loader is None:
            raise TypeError("takt: watch() got no loader")
        return self._loader

    def _time(self, module, name):
        self._removals.append(_time_calls(module, self._regions.held(name)))

    def _hook_backward(self, module, name):
        region, grad_enabled = self._regions.held(name), torch.is_grad_enabled
        removals = self._removals  # empty after remove(), while tensors still have the hooks

        def before(_, inputs):
            tensor = _first_with_gradient(inputs) if grad_enabled() else None
            # The gradient of the last module's output begins that one, which ends this one. A leaf has no module.
            if tensor is not None and not tensor.is_leaf and tensor is not _thread.here.output():
                tensor.register_hook(end_module)

        def after(_, inputs, output):
            tensor = _first_with_gradient(output) if grad_enabled() else None
            if tensor is not None:
                _thread.here.output = weakref.ref(tensor)
                tensor.register_hook(begin_module)

        def begin_module(_):
            here = _thread.here
            if here.in_backward and removals:
                here.end_module()
                here.module, here.module_region = module, _now(region).begin()

        def end_module(_):
            here = _thread.here
            if here.module is module:
                here.end_module()

        self._removals.append(module.register_forward_pre_hook(_Hook(before)).remove)
        self._removals.append(module.register_forward_hook(_Hook(after)).remove)


class _Regions:
    """Regions of a model by name: with the span on the current stream of a GPU, if its parameters are there."""

    def __init__(self, parameter):
        self._device = parameter.device if parameter is not None and parameter.is_cuda else None
        self._known = {}

    def get(self, name):
        """Returns the region of a name on the current stream."""
        stream = None if self._device is None else torch.cuda.current_stream(self._device)
        key = name if stream is None else (name, stream.cuda_stream)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = _takt.region(name, kind=None if name in _PHASES else "compute", stream=stream)
        return known

    def held(self, name):
        """Returns the region of a name, or on a GPU a callable that returns it."""
        return self.get(name) if self._device is None else functools.partial(self.get, name)


def _now(held):
    """Returns the region of what _Regions.held() returned."""
    return held if isinstance(held, _takt.Region) else held()


class _Batches:
    def __init__(self, batches):
        self._batches = batches
        self._region = _takt.region("IO")

    def __iter__(self):
        return self

    def __next__(self):
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


class _Timed:
    """Base of the classes of watched modules."""

    def __init_subclass__(cls):
        """Does not call the one of the module's class, which may list its subclasses."""

    def __reduce_ex__(self, protocol):
        """Makes copies, also pickled ones, of the module's own class."""
        own, reduced = type(self), super().__reduce_ex__(protocol)
        while "_takt_own" in vars(own):
            own = own._takt_own
        if own is type(self) or isinstance(reduced, str):  # another tool's class, or the name of an object
            return reduced
        make, arguments = reduced[0], tuple(own if each is type(self) else each for each in reduced[1])
        if make is type(self):
            make = own
        elif make is copyreg.__newobj__:  # with which pickle rejects another class
            make = own.__new__
        return make, arguments, *reduced[2:]


def _time_calls(module, held):
    """Times a module's calls, for less than PyTorch's hooks would cost. Returns a function that stops it."""
    own = type(module)
    if isinstance(inspect.getattr_static(own, "__call__"), (types.FunctionType, _takt.TimedCall)):
        call = _takt.TimedCall(own, held, "__call__")  # looked up at each call: torch.fx replaces that of nn.Module
    else:
        call = _takt.TimedCall(lambda self, *args, **kwargs: super(timed, self).__call__(*args, **kwargs), held)
    names = {"__call__": call, "_takt_own": own, **{each: getattr(own, each) for each in _NAMES}}
    try:
        timed = type(own)(own.__name__, (own,) if issubclass(own, _Timed) else (_Timed, own), names)
    except TypeError as error:
        raise TypeError(f"takt: no class can be derived from {own.__qualname__}, which watch() needs: {error}; use a smaller "
                        "depth, or a region of your own") from error
    # The module's own __setattr__() may do something else, as that of a compiled one.
    object.__setattr__(module, "__class__", timed)

    def is_over(cls):
        ended = vars(cls).get("__call__")
        # torch.nn.utils.parametrize may have added attributes, which the module still needs.
        return (isinstance(ended, _takt.TimedCall) and ended.region is None and
                all(name.startswith("__") or name == "_takt_own" for name in vars(cls)))

    def remove():
        call.region = None  # for replicas, and for modules that have got a class derived from this one
        while is_over(type(module)):  # several may watch the module, and end in any order
            object.__setattr__(module, "__class__", type(module)._takt_own)
    return remove


def _watch_optimizer(optimizer, held):
    # A method, as learning-rate schedulers require; they may wrap it again.
    step, had_own = optimizer.step, "step" in vars(optimizer)
    call = _takt.TimedCall(step, held)

    @functools.wraps(getattr(step, "__func__", step))
    def timed(_, *args, **kwargs):
        return call(*args, **kwargs)

    def undo():
        if had_own:
            optimizer.step = step
        else:
            del optimizer.step

    timed._takt_step = timed, call, undo
    optimizer.step = types.MethodType(timed, optimizer)

    def remove():
        call.region = None
        while True:  # several may watch it, and end in any order
            current = getattr(vars(optimizer).get("step"), "__func__", None)
            ours, its_call, its_undo = getattr(current, "_takt_step", (None, None, None))  # wrappers copy the attribute
            if ours is None or ours is not current or its_call.region is not None:
                return
            its_undo()
    return remove


class _Backward:
    """The backward pass of this thread."""

    def __init__(self):
        self.output = _nothing  # of the last module of a forward pass, as a weak reference
        self.in_backward = False
        self.module = None
        self.module_region = None

    def end_module(self):
        if self.module is not None:
            self.module_region.end()
            self.module = self.module_region = None


def _nothing(*_):
    return None


class _Thread(threading.local):
    def __init__(self):
        self.here = _Backward()


_thread = _Thread()


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


_timed = None  # replaces torch.autograd.backward()
_watching = ()  # of each watch, the region, and whether modules are regions in it


def _watch_backward(held, has_modules):
    """Times torch.autograd.backward(), which Tensor.backward() calls. Returns a function that stops it."""
    global _timed, _watching
    if not _watching:
        original = torch.autograd.backward
        while isinstance(original, _takt.TimedCall):  # from another tool, which had got it from an earlier watch
            original = original.__wrapped__.__wrapped__
        torch.autograd.backward = _timed = _takt.TimedCall(_backward_pass(original), None)
    watching = (held, has_modules)
    _watching += (watching,)
    _timed.region = held

    def remove():
        global _watching
        _watching = tuple(each for each in _watching if each is not watching)
        _timed.region = _watching[-1][0] if _watching else None
        # Another tool may have replaced it again, and calls this one.
        if not _watching and torch.autograd.backward is _timed:
            torch.autograd.backward = _timed.__wrapped__.__wrapped__
    return remove


def _backward_pass(original):
    """Returns torch.autograd.backward() with what `backward_modules` needs."""
    @functools.wraps(original)
    def backward(*args, **kwargs):
        if not any(has_modules for _, has_modules in _watching):
            return original(*args, **kwargs)
        here = _thread.here
        was_in_backward, here.in_backward = here.in_backward, True
        try:
            return original(*args, **kwargs)
        finally:
            here.in_backward = was_in_backward
            if here.module is not None:
                here.end_module()
    return backward
