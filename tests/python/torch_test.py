# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""takt.torch.watch() with PyTorch for CPUs: what is timed, where, and that nothing is left behind."""

import copy
import functools
import gc
import inspect
import io
import pickle
import threading
import time
import unittest
import weakref

import takt
import takt.torch
import torch
import torch.fx
import torch.nn.utils.parametrize
import torch.utils.checkpoint
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 16))
        self.blocks = nn.ModuleList([nn.Linear(16, 16), nn.Linear(16, 16)])
        self.head = nn.Linear(16, 2)
        self.unused = nn.Linear(2, 2)
        self.fails = False

    def forward(self, x):
        x = self.encoder(x)
        for block in self.blocks:
            x = x + torch.relu(block(x))
        if self.fails:
            raise KeyError("forward")
        return self.head(x)


def calls():
    """Returns the number of regions that have ended, by path."""
    return {each["path"]: each["host"]["n"] for each in takt.snapshot()["paths"]}


class Watch(unittest.TestCase):
    # Newer versions load only weights without it.
    WHOLE = {"weights_only": False} if "weights_only" in inspect.signature(torch.load).parameters else {}

    def setUp(self):
        torch.manual_seed(0)
        torch.set_num_threads(1)
        self.before = calls()
        self.net = Net()
        self.loader = [(torch.randn(4, 8), torch.randint(2, (4,))) for _ in range(5)]

    def new(self):
        return {path: n - self.before.get(path, 0) for path, n in calls().items() if n > self.before.get(path, 0)}

    def train(self, batches, optimizer):
        for x, y in batches:
            with takt.Batch:
                loss = nn.functional.cross_entropy(self.net(x), y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()

    def test_the_phases_and_modules_of_a_step(self):
        optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)
        with takt.torch.watch(self.net, optimizer, self.loader, backward_modules=True) as batches:
            self.assertEqual(len(batches), 5)
            self.train(batches, optimizer)
        modules = ("encoder", "blocks.0", "blocks.1", "head")
        self.assertEqual(self.new(), {
            "IO": 6, "Batch": 5, "Batch/Forward": 5, "Batch/Backward": 5, "Batch/Optimizer": 5,
            **{f"Batch/Forward/{each}": 5 for each in modules}, **{f"Batch/Backward/{each}": 5 for each in modules}})
        kinds = {each["path"]: each["kind"] for each in takt.snapshot()["paths"]}
        self.assertEqual((kinds["Batch/Forward/head"], kinds["Batch/Optimizer"]), ("compute", "compute"))

    def test_depth(self):
        with takt.torch.watch(self.net, depth=2, backward_modules=True):
            self.net(torch.randn(1, 8)).sum().backward()
        new = self.new()
        self.assertEqual(new["Forward/encoder/encoder.0"], 1)
        self.assertEqual(new["Backward/encoder.0"], 1)
        self.assertNotIn("Backward/encoder", new)
        self.before = calls()
        with takt.torch.watch(self.net):
            self.net(torch.randn(1, 8)).sum().backward()
        self.assertEqual({path for path in self.new() if "Backward" in path}, {"Backward"})
        self.before = calls()
        with takt.torch.watch(self.net, depth=0, backward_modules=True):
            self.net(torch.randn(1, 8)).sum().backward()
        self.assertEqual(self.new(), {"Forward": 1, "Backward": 1})

    def test_without_gradients_only_the_forward_pass_is_there(self):
        with takt.torch.watch(self.net), takt.Validation, torch.no_grad():
            self.net(torch.randn(1, 8))
        new = self.new()
        self.assertEqual(new["Validation/Forward"], 1)
        self.assertFalse([path for path in new if "Backward" in path])

    def test_the_times_are_those_of_the_work(self):
        class Slow(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, seconds):
                ctx.seconds = seconds
                return x.clone()

            @staticmethod
            def backward(ctx, gradient):
                until = time.perf_counter() + ctx.seconds
                while time.perf_counter() < until:
                    pass
                return gradient, None

        class Slowed(nn.Module):
            def __init__(self, seconds):
                super().__init__()
                self.layer = nn.Linear(8, 8)
                self.seconds = seconds

            def forward(self, x):
                return Slow.apply(self.layer(x), self.seconds)

        class Pair(nn.Module):
            def __init__(self):
                super().__init__()
                self.one, self.three = Slowed(0.01), Slowed(0.03)

            def forward(self, x):
                return self.three(Slow.apply(self.one(x), 0.02))  # 20 ms between the two

        net = Pair()
        with takt.torch.watch(net, backward_modules=True), takt.region("times"):
            net(torch.randn(1, 8)).sum().backward()
        totals = {each["path"]: each["host"]["total_ns"] / 1e6 for each in takt.snapshot()["paths"]}
        one, three = totals["times/Backward/one"], totals["times/Backward/three"]
        self.assertGreaterEqual(one, 10)
        self.assertGreaterEqual(three, 30)
        self.assertGreaterEqual(totals["times/Backward"] - one - three, 20)

    def test_an_exception_in_the_forward_pass(self):
        self.net.fails = True
        with takt.torch.watch(self.net):
            for _ in range(2):
                with self.assertRaises(KeyError):
                    self.net(torch.randn(1, 8))
            self.net.fails = False
            self.net(torch.randn(1, 8))
        with takt.Other:
            pass
        new = self.new()
        self.assertEqual((new["Forward"], new["Forward/encoder"], new["Forward/head"], new["Other"]), (3, 3, 1, 1))

    def test_nothing_is_kept_after_an_exception(self):
        alive = []
        for fails in (True, False):
            net = Net()
            net.fails = fails
            with takt.torch.watch(net, backward_modules=True):
                try:
                    out = net(torch.randn(1, 8))
                    del out
                    net.encoder(torch.randn(1, 8))  # a module alone
                except KeyError:
                    pass
            alive.append(weakref.ref(net))
            del net
        gc.collect()
        self.assertEqual([each() for each in alive], [None, None])
        with takt.Batch:
            pass
        self.assertEqual(self.new()["Batch"], 1)

    def test_threads_in_the_forward_pass_at_once(self):
        inside = threading.Barrier(3)

        def wait(*_):
            inside.wait(60)

        def run():
            net(torch.randn(1, 8))
            with takt.Other:
                pass

        net = self.net
        net.head.register_forward_pre_hook(wait)  # all have begun, none has ended
        with takt.torch.watch(net):
            threads = [threading.Thread(target=run) for _ in range(3)]
            for each in threads:
                each.start()
            for each in threads:
                each.join()
        new = self.new()
        self.assertEqual((new["Forward"], new["Forward/encoder"], new["Forward/head"], new["Other"]), (3, 3, 3, 3))

    def test_a_model_that_calls_itself(self):
        class Twice(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(8, 8)

            def forward(self, x, again=True):
                return self(self.layer(x), False) if again else self.layer(x)

        net = Twice()
        with takt.torch.watch(net):
            net(torch.randn(1, 8))
        with takt.Other:
            pass
        new = self.new()
        self.assertEqual((new["Forward"], new["Forward/Forward"], new["Forward/Forward/layer"]), (1, 1, 1))
        self.assertEqual(new["Other"], 1)  # not in Forward

    def test_a_watch_is_true(self):
        watched = takt.torch.watch(self.net)
        self.assertTrue(watched)
        with self.assertRaisesRegex(TypeError, "no loader"):
            len(watched)
        watched.remove()

    def test_removal_in_the_forward_pass_ends_its_regions(self):
        watched = takt.torch.watch(self.net)
        self.net.head.register_forward_pre_hook(lambda *_: watched.remove())
        self.net(torch.randn(1, 8))
        with takt.Batch:
            pass
        self.assertEqual(self.new()["Batch"], 1)

    def test_a_reused_input_gathers_no_hooks(self):
        x = torch.zeros(1, 8, requires_grad=True)
        with takt.torch.watch(self.net, backward_modules=True):
            for _ in range(5):
                self.net(x).sum().backward()
        self.assertFalse(x._backward_hooks)

    def test_copies_are_not_watched(self):
        file = io.BytesIO()
        with takt.torch.watch(self.net), takt.torch.watch(self.net):
            copies = [copy.copy(self.net), copy.deepcopy(self.net)]
            copies += [pickle.loads(pickle.dumps(self.net, protocol)) for protocol in range(2, 6)]
            torch.save(self.net, file)
        file.seek(0)
        copies.append(torch.load(file, **self.WHOLE))
        for each in copies:
            self.assertIs(type(each), Net)
            self.assertIs(type(each.encoder), nn.Sequential)
            each(torch.randn(1, 8))
        self.assertEqual(self.new(), {})

    def test_copies_of_unusual_classes(self):
        class Again(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.layer = nn.Linear(8, width)

            def __reduce__(self):
                return type(self), (3,)

        class Dict(nn.Module, dict):
            __hash__ = object.__hash__

        for own, net in ((Again, Again(2)), (Dict, Dict())):
            with takt.torch.watch(net):
                self.assertIs(type(copy.deepcopy(net)), own)

    def test_regions_that_depend_on_the_stream(self):
        held = takt.torch._Regions.held  # of a model on a GPU
        self.addCleanup(setattr, takt.torch._Regions, "held", held)
        takt.torch._Regions.held = lambda regions, name: functools.partial(regions.get, name)
        optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)
        with takt.torch.watch(self.net, optimizer, self.loader, backward_modules=True) as batches:
            self.train(batches, optimizer)
        for path in ("Forward", "Forward/head", "Backward", "Backward/head", "Optimizer"):
            self.assertEqual(self.new()[f"Batch/{path}"], 5, path)

    def test_a_graph_that_outlives_its_watch(self):
        with takt.torch.watch(self.net, backward_modules=True):
            loss = self.net(torch.randn(1, 8)).sum()
        with takt.torch.watch(nn.Linear(2, 2)):
            loss.backward()
        self.assertEqual({path for path in self.new() if "Backward" in path}, {"Backward"})

    def test_classes(self):
        class Listed(nn.Module):
            known = []

            def __init_subclass__(cls):
                Listed.known.append(cls)

            def __setattr__(self, name, value):
                if name == "__class__":
                    raise AttributeError(name)
                super().__setattr__(name, value)

            def forward(self, x):
                return x

        net, before = Listed(), repr(Listed())
        first, second = takt.torch.watch(net), takt.torch.watch(net)
        self.assertIsInstance(net, Listed)
        self.assertEqual((repr(net), type(net).__name__, type(net).__module__), (before, "Listed", __name__))
        self.assertEqual(inspect.signature(net.forward), inspect.signature(Listed.forward.__get__(net)))
        net(1)
        first.remove()
        net(1)
        second.remove()
        self.assertIs(type(net), Listed)
        self.assertFalse(Listed.known)
        self.assertEqual(self.new(), {"Forward": 2, "Forward/Forward": 1})

    def test_a_class_that_another_tool_derives_meanwhile(self):
        net = nn.Linear(8, 2)
        watched = takt.torch.watch(net)
        nn.utils.parametrize.register_parametrization(net, "weight", nn.Identity())
        x = torch.randn(1, 8)
        self.assertTrue(torch.equal(net(x), copy.deepcopy(net)(x)))  # both are watched
        watched.remove()
        net(x)
        nn.utils.parametrize.remove_parametrizations(net, "weight")
        net(x)
        self.assertEqual(self.new(), {"Forward": 2})

    def test_replicas_have_their_own_parameters(self):
        layer = nn.Linear(2, 2)
        with takt.torch.watch(layer):
            replica = layer._replicate_for_data_parallel()  # of nn.DataParallel
            replica._parameters = {"weight": torch.zeros(2, 2), "bias": torch.ones(2)}
            self.assertEqual(replica(torch.randn(1, 2)).tolist(), [[1, 1]])
        self.assertEqual(self.new(), {"Forward": 1})

    def test_scripted_and_compiled_models(self):
        models = [torch.jit.script(self.net), torch.jit.trace(self.net, torch.randn(1, 8))]
        if hasattr(torch, "compile"):
            models.append(torch.compile(self.net, backend="eager"))
        x = torch.randn(2, 8)
        for each in models:
            expected = each(x)
            with takt.torch.watch(each, depth=0):
                self.assertTrue(torch.equal(each(x), expected))
            self.assertTrue(torch.equal(each(x), expected))
        self.assertEqual(self.new(), {"Forward": len(models)})

    def test_wrong_arguments_leave_nothing_behind(self):
        original = torch.autograd.backward
        for wrong in ({"optimizer": "x"}, {"optimizer": [1]}, {"depth": "a"}):
            with self.assertRaises(TypeError):
                takt.torch.watch(self.net, **wrong)
        self.net(torch.randn(1, 8))
        self.assertEqual(self.new(), {})
        self.assertIs(torch.autograd.backward, original)

    def test_a_module_with_two_names_has_the_first(self):
        self.net.again = self.net.head
        with takt.torch.watch(self.net):
            self.net(torch.randn(1, 8))
        self.assertEqual(self.new()["Forward/head"], 1)
        self.assertNotIn("Forward/head/again", self.new())

    def test_two_watches_recomputation_and_schedulers(self):
        other = nn.Linear(2, 2)
        optimizer = torch.optim.Adam(self.net.parameters())
        before = torch.optim.lr_scheduler.StepLR(optimizer, 1)
        with takt.torch.watch(self.net, optimizer), takt.torch.watch(other):
            after = torch.optim.lr_scheduler.StepLR(optimizer, 1)
            x = torch.randn(2, 8, requires_grad=True)
            out = torch.utils.checkpoint.checkpoint(self.net, x, use_reentrant=True)
            other(out).sum().backward()
            optimizer.step()
            before.step()
            after.step()
        new = self.new()
        self.assertEqual((new["Backward"], new["Backward/Backward"]), (1, 1))
        self.assertEqual(new["Optimizer"], 1)
        self.assertEqual(new["Forward"], 2)
        self.assertGreaterEqual(sum(n for path, n in new.items() if path.endswith("/Forward")), 1)  # again, in Backward
        optimizer.step()
        self.assertEqual(self.new()["Optimizer"], 1)

    def test_nothing_is_left_behind(self):
        original, optimizer = torch.autograd.backward, torch.optim.SGD(self.net.parameters(), lr=0.1)
        watched = takt.torch.watch(self.net, optimizer, self.loader, backward_modules=True)
        self.assertIsNot(torch.autograd.backward, original)
        self.assertEqual(torch.autograd.backward.__name__, "backward")
        self.assertEqual(inspect.signature(torch.autograd.backward), inspect.signature(original))
        watched.remove()
        watched.remove()
        self.assertIs(torch.autograd.backward, original)
        self.assertNotIn("step", vars(optimizer))
        self.assertFalse([each for each in self.net.modules() if each._forward_hooks or each._forward_pre_hooks])
        self.train(self.loader, optimizer)
        self.assertEqual(self.new(), {"Batch": 5})

    def test_what_is_watched_is_freed_without_removal(self):
        net = Net()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        gone = [weakref.ref(net), weakref.ref(optimizer)]
        takt.torch.watch(net, optimizer)
        self.addCleanup(setattr, takt.torch, "_watching", takt.torch._watching[:-1])
        del net, optimizer
        gc.collect()
        self.assertEqual([each() for each in gone], [None, None])

    def test_timed_calls(self):
        def work(*args, **kwargs):
            return args, kwargs

        timed = takt._takt.TimedCall(work, lambda: takt.region("stream of the call"))
        self.assertEqual(timed(1, two=2), ((1,), {"two": 2}))
        self.assertEqual((timed.__name__, timed.__wrapped__), ("work", work))
        self.assertRaises(AttributeError, getattr, timed, "missing")
        self.assertIs(copy.deepcopy(timed), timed)
        self.assertIs(weakref.ref(timed)(), timed)
        self.assertEqual(type("Class", (), {"__call__": timed, "method": timed})().method(1)[0][1:], (1,))
        self.assertRaisesRegex(TypeError, "region of a timed call is 'name'", takt._takt.TimedCall(work, lambda: "name"))
        self.assertRaises(ZeroDivisionError, takt._takt.TimedCall(work, lambda: 1 / 0))
        for region in (takt.region("sampled", every=2), takt.span("span"), takt.region("plain")):
            timed = takt._takt.TimedCall(lambda: {}["missing"], region)
            for _ in range(2):
                self.assertRaises(KeyError, timed)
            timed.region = None
            self.assertRaises(KeyError, timed)
            del timed.region
            self.assertRaises(KeyError, timed)
        self.assertEqual(self.new(), {"stream of the call": 2, "sampled": 1, "span": 2, "plain": 2})
        self.assertRaises(TypeError, takt._takt.TimedCall, work)
        self.assertRaises(TypeError, takt._takt.TimedCall, work, region=timed)

    def test_another_tool_may_replace_the_backward_pass_meanwhile(self):
        original, watched = torch.autograd.backward, takt.torch.watch(self.net)
        timed = torch.autograd.backward

        def other(*args, **kwargs):
            return timed(*args, **kwargs)

        torch.autograd.backward = other
        self.addCleanup(setattr, torch.autograd, "backward", original)
        watched.remove()
        self.assertIs(torch.autograd.backward, other)
        with takt.torch.watch(self.net):
            self.net(torch.randn(1, 8)).sum().backward()
        self.assertEqual(self.new()["Backward"], 1)
        torch.autograd.backward = timed
        takt.torch.watch(self.net).remove()
        self.assertIs(torch.autograd.backward, original)

    def test_another_tool_may_take_the_backward_pass_back(self):
        original, watched = torch.autograd.backward, takt.torch.watch(self.net)
        torch.autograd.backward = original  # without the one of watch()
        watched.remove()
        with takt.torch.watch(self.net):
            self.net(torch.randn(1, 8)).sum().backward()
        self.assertEqual(self.new()["Backward"], 1)
        self.assertIs(torch.autograd.backward, original)

    def test_a_replaced_call_of_all_modules_is_used(self):
        call = nn.Module.__call__
        self.addCleanup(setattr, nn.Module, "__call__", call)
        with takt.torch.watch(self.net):
            seen = []
            nn.Module.__call__ = lambda module, *args: (seen.append(module), call(module, *args))[1]
            self.net(torch.randn(1, 8))
            nn.Module.__call__ = call
            self.assertIn(self.net, seen)
            self.assertIn(self.net.head, seen)
            graph = torch.fx.symbolic_trace(self.net.encoder)
        self.assertEqual([each.op for each in graph.graph.nodes].count("call_module"), 3)

    def test_calls_that_are_no_functions(self):
        class Static(nn.Module):
            __call__ = staticmethod(lambda *args: args)

        class Partial(nn.Module):
            __call__ = functools.partial(lambda *args: args, 1)

        for own in (Static, Partial):
            net = own()
            expected = net(2)
            with takt.torch.watch(net), takt.torch.watch(net):
                self.assertEqual(net(2), expected)
            self.assertIs(type(net), own)
        self.assertEqual(self.new()["Forward"], 2)

    def test_parametrizations_that_begin_meanwhile(self):
        class Twice(nn.Module):
            def forward(self, weight):
                return weight * 2

        nn.utils.parametrize.register_parametrization(self.net.head, "weight", Twice())
        with takt.torch.watch(self.net):
            nn.utils.parametrize.register_parametrization(self.net.head, "bias", Twice())
            self.net(torch.randn(1, 8))
        before = self.new()
        self.net(torch.randn(1, 8))
        self.assertEqual(self.new(), before)

    def test_a_watch_that_fails_leaves_nothing_behind(self):
        class Fixed:
            step = property(lambda _: print)

        class Meta(type(nn.Module)):
            def __new__(cls, name, bases, names, *, word):
                return super().__new__(cls, name, bases, names)

            def __init__(cls, name, bases, names, *, word):
                super().__init__(name, bases, names)

        class Worded(nn.Module, metaclass=Meta, word=1):
            pass

        original = torch.autograd.backward
        self.assertRaises(AttributeError, takt.torch.watch, self.net, Fixed())
        self.assertRaisesRegex(TypeError, "derived from .*Worded, which", takt.torch.watch, nn.Sequential(nn.ReLU(), Worded()))
        self.assertIs(type(self.net), Net)
        self.assertIs(torch.autograd.backward, original)

    def test_optimizers_with_several_watches(self):
        for first in (0, 1):
            optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)
            watched = [takt.torch.watch(self.net, optimizer), takt.torch.watch(self.net, optimizer)]
            watched[first].remove()
            self.assertIn("step", vars(optimizer))
            watched[1 - first].remove()
            self.assertNotIn("step", vars(optimizer))

    def test_results_are_the_same(self):
        def losses(watched):
            torch.manual_seed(1)
            net = Net()
            optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
            watch = takt.torch.watch(net, optimizer, depth=2, backward_modules=True) if watched else None
            found = []
            for x, y in self.loader:
                loss = nn.functional.cross_entropy(net(x), y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                found.append(loss.item())
            if watch is not None:
                watch.remove()
            return found
        self.assertEqual(losses(True), losses(False))

    def test_a_module_with_the_name_of_a_phase(self):
        self.net.Batch = nn.Linear(2, 2)
        self.net.head = nn.Sequential(nn.Linear(16, 2), self.net.Batch)
        with takt.torch.watch(self.net, depth=2), takt.Other:
            self.net(torch.randn(1, 8))
        self.assertFalse([path for path in self.new() if path.split("/")[-1] == "Batch"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
