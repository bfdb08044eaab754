// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Regions and metrics for Python, in CPython's own interface: each call has to cost tens of nanoseconds. Everything is
// in the stable ABI, and guarded by the interpreter's lock.
#include "regions.hpp"

#include <takt/detail/hot.hpp>
#include <takt/key.hpp>
#include <takt/scope.hpp>

#include <takt.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include <pthread.h>
#include <structmember.h>

namespace {

/// Ways to start a region.
enum class Start : std::uint8_t { plain, every, cuda, hip, span };

/// A started region.
struct Open {
  pthread_t thread;
  takt_region region;
  std::int64_t begin_ns;  ///< of a span
};

/// takt.Region: what to time, and its regions that are open. These are one in nearly all programs. More are open if
/// recursive functions, threads or coroutines share the object.
struct Region {
  PyObject_HEAD const takt_key* key;
  void* stream;
  PyObject* stream_owner;  ///< keeps the stream alive; may be nullptr
  std::uint32_t every;
  Start start;
  std::uint32_t count;
  std::uint32_t capacity;  ///< of `more`
  Open first;
  Open* more;  ///< from the second one on, in the order of their starts
};

PyTypeObject* region_type = nullptr;
PyObject* method_type = nullptr;  ///< types.MethodType

Region* as_region(PyObject* object) { return reinterpret_cast<Region*>(object); }
PyObject* as_object(Region* region) { return reinterpret_cast<PyObject*>(region); }
bool is_region(PyObject* object) { return Py_TYPE(object) == region_type; }
const takt::Key& key_of(const Region& region) { return *reinterpret_cast<const takt::Key*>(region.key); }

std::int64_t now_ns() { return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count(); }

Open& at(Region& region, std::uint32_t number) { return number == 0 ? region.first : region.more[number - 1]; }

/// Returns the newest open region of this thread, else the newest one; nullptr if none is open.
Open* newest(Region& region) {
  if (region.count <= 1) { return region.count == 0 ? nullptr : &region.first; }
  const pthread_t here = pthread_self();
  for (std::uint32_t number = region.count; number-- > 0;) {
    if (pthread_equal(at(region, number).thread, here) != 0) { return &at(region, number); }
  }
  return &at(region, region.count - 1);
}

/// Removes an open region from the list.
void drop(Region& region, Open* open) {
  std::uint32_t number = open == &region.first ? 0 : static_cast<std::uint32_t>(open - region.more) + 1;
  for (--region.count; number < region.count; ++number) { at(region, number) = at(region, number + 1); }
}

/// Returns space for one more open region, or nullptr with Python's MemoryError set.
Open* add(Region& region) {
  if (region.count > region.capacity) {
    const std::uint32_t capacity = region.capacity == 0 ? 4 : 2 * region.capacity;
    void* const more = std::realloc(region.more, capacity * sizeof(Open));
    if (more == nullptr) {
      PyErr_NoMemory();
      return nullptr;
    }
    region.more = static_cast<Open*>(more);
    region.capacity = capacity;
  }
  return &at(region, region.count++);
}

/// Starts a region that `finish` ends.
void start(const Region& region, Open& open) {
  switch (region.start) {
    case Start::plain:
      open.region = takt_begin(region.key);
      break;
    case Start::every:
      open.region = takt_begin_every(region.key, region.every);
      break;
    case Start::cuda:
      open.region = takt_begin_cuda(region.key, region.stream);
      break;
    case Start::hip:
      open.region = takt_begin_hip(region.key, region.stream);
      break;
    case Start::span:
      open.begin_ns = now_ns();
      break;
  }
}

void finish(const Region& region, Open& open) {
  if (region.start == Start::span) {
    takt_record(region.key, now_ns() - open.begin_ns);
  } else {
    takt_end(&open.region);
  }
}

bool begin(Region& region) {
  Open* const open = region.count == 0 ? &region.first : add(region);
  if (open == nullptr) { return false; }
  if (open == &region.first) { region.count = 1; }
  start(region, *open);
  open->thread = pthread_self();
  return true;
}

/// Ends a region that another object of the same name started on this thread; without one, reports that.
void end_by_name(const Region& region) {
  if (region.start != Start::span && takt::detail::end_innermost(key_of(region)) != 0) { return; }
  takt_region none = {0, 0};
  takt_end(&none);
}

void end(Region& region) {
  Open* const open = newest(region);
  if (open == nullptr) {
    end_by_name(region);
    return;
  }
  finish(region, *open);
  if (region.count == 1) {
    region.count = 0;
  } else {
    drop(region, open);
  }
}

/// Returns the key of a name or of a Region; nullptr with an error set.
const takt_key* key_from(PyObject* given, int kind) {
  if (is_region(given)) { return as_region(given)->key; }
  Py_ssize_t size = 0;
  const char* const name = PyUnicode_Check(given) ? PyUnicode_AsUTF8AndSize(given, &size) : nullptr;
  if (name == nullptr) {
    if (!PyErr_Occurred()) {
      PyErr_SetString(PyExc_TypeError, "takt: a region is named by a str or another region, or decorates a function");
    }
    return nullptr;
  }
  if (std::strlen(name) != static_cast<std::size_t>(size)) {
    PyErr_SetString(PyExc_ValueError, "takt: the name of a region has a null character");
    return nullptr;
  }
  return takt_get_key(name, kind);
}

Region* new_region(const takt_key* key, Start start) {
  auto* const region = PyObject_New(Region, region_type);
  if (region == nullptr) { return nullptr; }
  region->key = key;
  region->stream = nullptr;
  region->stream_owner = nullptr;
  region->every = 1;
  region->start = start;
  region->count = 0;
  region->capacity = 0;
  region->more = nullptr;
  return region;
}

bool kind_from(PyObject* given, int& kind) {
  static constexpr const char* kKinds[] = {"compute", "comm", "io", "wait", "other"};  // in the order of takt.h
  if (given == Py_None) { return true; }
  const char* const text = PyUnicode_Check(given) ? PyUnicode_AsUTF8AndSize(given, nullptr) : nullptr;
  for (int each = TAKT_COMPUTE; text != nullptr && each <= TAKT_OTHER; ++each) {
    if (std::strcmp(text, kKinds[each]) == 0) {
      kind = each;
      return true;
    }
  }
  PyErr_Clear();
  PyErr_Format(PyExc_ValueError, "takt: the kind is %R; it can be 'compute', 'comm', 'io', 'wait' or 'other'", given);
  return false;
}

/// Sets the stream of a region by takt._streams.address(), which knows the libraries of Python.
bool set_stream(Region& region, PyObject* stream) {
  PyObject* const module = PyImport_ImportModule("takt._streams");
  PyObject* const pair = module == nullptr ? nullptr : PyObject_CallMethod(module, "address", "O", stream);
  Py_XDECREF(module);
  unsigned long long address = 0;
  int is_hip = 0;
  const bool ok = pair != nullptr && PyArg_ParseTuple(pair, "Kp", &address, &is_hip) != 0;
  Py_XDECREF(pair);
  if (!ok) { return false; }
  region.stream = reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
  region.start = is_hip != 0 ? Start::hip : Start::cuda;
  Py_INCREF(stream);
  region.stream_owner = stream;
  return true;
}

bool set_every(Region& region, PyObject* every) {
  const long n = PyLong_AsLong(every);
  if (n < 1 || n > UINT32_MAX) {
    if (!PyErr_Occurred()) { PyErr_SetString(PyExc_ValueError, "takt: every is 1 to 4294967295"); }
    return false;
  }
  region.every = static_cast<std::uint32_t>(n);
  region.start = Start::every;
  return true;
}

/// Arguments of region() and span().
struct Arguments {
  PyObject* name = nullptr;
  PyObject* kind = Py_None;
  PyObject* stream = Py_None;
  PyObject* every = Py_None;
};

bool parse(const char* function, Arguments& parsed, PyObject* const* arguments, Py_ssize_t count, PyObject* keywords) {
  if (count != 1) {
    PyErr_Format(PyExc_TypeError, "takt.%s() takes one positional argument, the name; %zd were given", function, count);
    return false;
  }
  static constexpr const char* kNames[] = {"kind", "stream", "every"};
  PyObject** const targets[] = {&parsed.kind, &parsed.stream, &parsed.every};
  parsed.name = arguments[0];
  const Py_ssize_t named = keywords == nullptr ? 0 : PyTuple_Size(keywords);
  for (Py_ssize_t i = 0; i < named; ++i) {
    PyObject* const keyword = PyTuple_GetItem(keywords, i);
    bool known = false;
    for (int each = 0; each < 3 && !known; ++each) {
      if (PyUnicode_CompareWithASCIIString(keyword, kNames[each]) == 0) {
        *targets[each] = arguments[count + i];
        known = true;
      }
    }
    if (!known) {
      PyErr_Format(PyExc_TypeError, "takt.%s() has no argument %R", function, keyword);
      return false;
    }
  }
  return true;
}

/// Calls takt._decorator.wrap(region, function).
PyObject* wrap(PyObject* region, PyObject* function) {
  PyObject* const module = PyImport_ImportModule("takt._decorator");
  PyObject* const result = module == nullptr ? nullptr : PyObject_CallMethod(module, "wrap", "OO", region, function);
  Py_XDECREF(module);
  return result;
}

/// region(name, *, kind=None, stream=None, every=None), or @region before a function.
PyObject* make_region(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* keywords) {
  Arguments given;
  if (!parse("region", given, arguments, count, keywords)) { return nullptr; }
  if (!PyUnicode_Check(given.name) && !is_region(given.name) && PyCallable_Check(given.name) != 0) {
    return wrap(Py_None, given.name);
  }
  int kind = TAKT_ANY;
  if (!kind_from(given.kind, kind)) { return nullptr; }
  const takt_key* const key = key_from(given.name, kind);
  Region* const region = key == nullptr ? nullptr : new_region(key, Start::plain);
  if (region == nullptr) { return nullptr; }
  if (given.stream != Py_None && given.every != Py_None) {
    PyErr_SetString(PyExc_TypeError, "takt.region() takes a stream or every, not both");
  } else if ((given.stream == Py_None || set_stream(*region, given.stream)) &&
             (given.every == Py_None || set_every(*region, given.every))) {
    return as_object(region);
  }
  Py_DECREF(as_object(region));
  return nullptr;
}

/// span(name, *, kind=None)
PyObject* make_span(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* keywords) {
  Arguments given;
  int kind = TAKT_ANY;
  if (!parse("span", given, arguments, count, keywords) || !kind_from(given.kind, kind)) { return nullptr; }
  if (given.stream != Py_None || given.every != Py_None) {
    PyErr_SetString(PyExc_TypeError, "takt.span() takes a name and a kind");
    return nullptr;
  }
  const takt_key* const key = key_from(given.name, kind);
  return key == nullptr ? nullptr : as_object(new_region(key, Start::span));
}

PyObject* region_enter(PyObject* self, PyObject*) {
  if (!begin(*as_region(self))) { return nullptr; }
  Py_INCREF(self);
  return self;
}

PyObject* region_exit(PyObject* self, PyObject* const*, Py_ssize_t) {
  end(*as_region(self));
  Py_RETURN_FALSE;
}

PyObject* region_end(PyObject* self, PyObject*) {
  end(*as_region(self));
  Py_RETURN_NONE;
}

PyObject* region_lap(PyObject* self, PyObject* next) {
  Region& region = *as_region(self);
  const takt_key* const key = key_from(next, TAKT_ANY);
  if (key == nullptr) { return nullptr; }
  if (region.start == Start::span) {
    PyErr_SetString(PyExc_TypeError, "takt: a span has no lap(); end it and start another one");
    return nullptr;
  }
  Open* const open = newest(region);
  if (open != nullptr) {
    takt_lap(&open->region, key);
  } else {
    takt_region none = {0, 0};
    takt_end(&none);  // reports it
  }
  Py_RETURN_NONE;
}

PyObject* add_amount(PyObject* self, PyObject* amount, int (*count)(const takt_region*, std::int64_t)) {
  const long long n = PyLong_AsLongLong(amount);
  if (n == -1 && PyErr_Occurred() != nullptr) { return nullptr; }
  Region& region = *as_region(self);
  if (region.start == Start::span) {
    PyErr_SetString(PyExc_TypeError, "takt: a span counts no items and bytes");
    return nullptr;
  }
  const Open* const open = newest(region);
  count(open == nullptr ? nullptr : &open->region, n);
  Py_RETURN_NONE;
}
PyObject* region_items(PyObject* self, PyObject* n) { return add_amount(self, n, takt_items); }
PyObject* region_bytes(PyObject* self, PyObject* n) { return add_amount(self, n, takt_bytes); }

PyObject* region_call(PyObject* self, PyObject* arguments, PyObject* keywords) {
  PyObject* function = nullptr;
  if (keywords != nullptr || PyArg_ParseTuple(arguments, "O", &function) == 0) {
    PyErr_SetString(PyExc_TypeError, "takt: a region decorates one function: @takt.region(\"name\")");
    return nullptr;
  }
  return wrap(self, function);
}

/// Copies and pickles have the name, kind and sampling, and no open regions.
PyObject* region_reduce(PyObject* self, PyObject*) {
  const Region& region = *as_region(self);
  if (region.start == Start::cuda || region.start == Start::hip) {
    PyErr_SetString(PyExc_TypeError, "takt: a region on a GPU stream cannot be copied or pickled");
    return nullptr;
  }
  PyObject* const module = PyImport_ImportModule("takt._decorator");
  PyObject* const restore = module == nullptr ? nullptr : PyObject_GetAttrString(module, "restore");
  Py_XDECREF(module);
  if (restore == nullptr) { return nullptr; }
  const takt::Key& key = key_of(region);
  return Py_BuildValue("N(ssIi)", restore, key.name(), takt::to_string(key.kind()), region.every,
                       region.start == Start::span ? 1 : 0);
}

PyObject* region_name(PyObject* self, void*) { return PyUnicode_FromString(key_of(*as_region(self)).name()); }
PyObject* region_kind(PyObject* self, void*) {
  return PyUnicode_FromString(takt::to_string(key_of(*as_region(self)).kind()));
}
PyObject* region_repr(PyObject* self) {
  const Region& region = *as_region(self);
  return PyUnicode_FromFormat("takt.%s('%s')", region.start == Start::span ? "span" : "region", key_of(region).name());
}

void region_free(PyObject* self) {
  Region& region = *as_region(self);
  std::free(region.more);
  Py_XDECREF(region.stream_owner);
  PyObject_Free(self);
  Py_DECREF(region_type);
}

PyMethodDef region_methods[] = {
    {"__enter__", region_enter, METH_NOARGS, "Starts a region."},
    {"__exit__", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(region_exit)), METH_FASTCALL,
     "Ends it, also after an exception."},
    {"begin", region_enter, METH_NOARGS, "Starts a region; returns this object."},
    {"end", region_end, METH_NOARGS, "Ends this thread's newest region of this object."},
    {"lap", region_lap, METH_O, "Ends the region and starts one of this name or region, with one clock reading."},
    {"items", region_items, METH_O, "Adds samples to the open region."},
    {"bytes", region_bytes, METH_O, "Adds bytes moved to the open region."},
    {"__reduce__", region_reduce, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr}};

PyGetSetDef region_members[] = {{"name", region_name, nullptr, "Name.", nullptr},
                                {"kind", region_kind, nullptr, "Kind.", nullptr},
                                {nullptr, nullptr, nullptr, nullptr, nullptr}};

/// takt._takt.TimedCall: a function, and the region around its calls. For takt.torch.watch(): after a training step, when
/// the caches are cold, `with` in a Python function costs more than twice as much (tests/python/region_bench.py).
struct TimedCall {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* function;
  PyObject* method;  ///< if not nullptr: the name of the function's attribute that is called instead
  PyObject* weak_references;
  PyObject* region;  ///< a Region, or a function that returns one; None or nullptr: calls are not timed
};

TimedCall* as_timed(PyObject* object) { return reinterpret_cast<TimedCall*>(object); }

/// Returns the region of a call: a new reference, or nullptr with an error set.
PyObject* region_of(const TimedCall& call) {
  PyObject* const given = Py_NewRef(call.region);  // may be replaced meanwhile
  if (is_region(given)) { return given; }
  PyObject* const region = PyObject_CallFunctionObjArgs(given, nullptr);
  Py_DECREF(given);
  if (region == nullptr || is_region(region)) { return region; }
  PyErr_Format(PyExc_TypeError, "takt: the region of a timed call is %R", region);
  Py_DECREF(region);
  return nullptr;
}

/// Calls it untimed.
PyObject* call_function(const TimedCall& call, PyObject* const* arguments, std::size_t count, PyObject* keywords) {
  if (call.method == nullptr) { return PyObject_Vectorcall(call.function, arguments, count, keywords); }
  PyObject* const function = PyObject_GetAttr(call.function, call.method);
  if (function == nullptr) { return nullptr; }
  PyObject* const result = PyObject_Vectorcall(function, arguments, count, keywords);
  Py_DECREF(function);
  return result;
}

PyObject* timed_call(PyObject* self, PyObject* const* arguments, std::size_t count, PyObject* keywords) {
  const TimedCall& call = *as_timed(self);
  if (call.function == nullptr) {  // a finalizer calls it
    PyErr_SetString(PyExc_ReferenceError, "takt: the function of a timed call is gone");
    return nullptr;
  }
  if (call.region == nullptr || call.region == Py_None) { return call_function(call, arguments, count, keywords); }
  if (is_region(call.region) && as_region(call.region)->start == Start::plain) {
    const takt::Scope scope(key_of(*as_region(call.region)));
    return call_function(call, arguments, count, keywords);
  }
  PyObject* const region = region_of(call);
  if (region == nullptr) { return nullptr; }
  Open open;
  start(*as_region(region), open);
  PyObject* const result = call_function(call, arguments, count, keywords);
  finish(*as_region(region), open);
  Py_DECREF(region);
  return result;
}

PyObject* timed_new(PyTypeObject* type, PyObject* arguments, PyObject* keywords) {
  PyObject* function = nullptr;
  PyObject* region = nullptr;
  PyObject* method = nullptr;
  if (keywords != nullptr) {
    PyErr_SetString(PyExc_TypeError, "TimedCall() takes no keywords");
    return nullptr;
  }
  if (PyArg_ParseTuple(arguments, "OO|U:TimedCall", &function, &region, &method) == 0) { return nullptr; }
  PyObject* const self = PyType_GenericAlloc(type, 0);
  if (self == nullptr) { return nullptr; }
  as_timed(self)->vectorcall = timed_call;
  as_timed(self)->function = Py_NewRef(function);
  as_timed(self)->method = Py_XNewRef(method);
  as_timed(self)->region = Py_NewRef(region);
  return self;
}

/// As an attribute of a class, it is a method.
PyObject* timed_bind(PyObject* self, PyObject* object, PyObject*) {
  return object == nullptr ? Py_NewRef(self) : PyObject_CallFunctionObjArgs(method_type, self, object, nullptr);
}

/// Has the function's attributes, too, such as its name.
PyObject* timed_get(PyObject* self, PyObject* name) {
  PyObject* const own = PyObject_GenericGetAttr(self, name);
  PyObject* const function = as_timed(self)->function;
  if (own != nullptr || function == nullptr || PyErr_ExceptionMatches(PyExc_AttributeError) == 0) { return own; }
  PyErr_Clear();
  return PyObject_GetAttr(function, name);
}

int timed_visit(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(as_timed(self)->function);
  Py_VISIT(as_timed(self)->region);
  return 0;
}

/// Copies and pickles are the same object, as those of functions are.
PyObject* timed_reduce(PyObject* self, PyObject*) { return PyObject_GetAttrString(self, "__qualname__"); }

int timed_clear(PyObject* self) {
  Py_CLEAR(as_timed(self)->function);
  Py_CLEAR(as_timed(self)->region);
  return 0;
}

void timed_free(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  if (as_timed(self)->weak_references != nullptr) { PyObject_ClearWeakRefs(self); }
  timed_clear(self);
  Py_CLEAR(as_timed(self)->method);
  PyObject_GC_Del(self);
  Py_DECREF(type);
}

PyMethodDef timed_methods[] = {{"__reduce__", timed_reduce, METH_NOARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};
PyMemberDef timed_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(TimedCall, vectorcall), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(TimedCall, weak_references), READONLY, nullptr},
    {"__wrapped__", T_OBJECT, offsetof(TimedCall, function), READONLY, nullptr},
    {"region", T_OBJECT, offsetof(TimedCall, region), 0, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

template <class Function>
void* slot(Function function) {
  return reinterpret_cast<void*>(function);
}

PyObject* metric(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* keywords) {
  if (keywords != nullptr && PyTuple_Size(keywords) == 1 && count == 2 &&
      PyUnicode_CompareWithASCIIString(PyTuple_GetItem(keywords, 0), "step") == 0) {
    ++count;  // its value is behind the positional ones
  } else if (keywords != nullptr && PyTuple_Size(keywords) != 0) {
    count = 0;
  }
  if (count < 2 || count > 3) {
    PyErr_SetString(PyExc_TypeError, "takt.metric() takes a name, a number and, if you like, a step");
    return nullptr;
  }
  const char* const name = PyUnicode_AsUTF8AndSize(arguments[0], nullptr);
  const double value = name == nullptr ? -1 : PyFloat_AsDouble(arguments[1]);
  if (value == -1 && PyErr_Occurred() != nullptr) { return nullptr; }
  if (count == 2 || arguments[2] == Py_None) {
    takt_metric(name, value);
  } else {
    const long long step = PyLong_AsLongLong(arguments[2]);
    if (step == -1 && PyErr_Occurred() != nullptr) { return nullptr; }
    takt_metric_at(name, value, step);
  }
  Py_RETURN_NONE;
}

PyObject* record(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  if (count != 2) {
    PyErr_SetString(PyExc_TypeError, "takt.record() takes a name or region, and seconds");
    return nullptr;
  }
  const takt_key* const key = key_from(arguments[0], TAKT_ANY);
  const double seconds = key == nullptr ? -1 : PyFloat_AsDouble(arguments[1]);
  if (seconds == -1 && PyErr_Occurred() != nullptr) { return nullptr; }
  if (!(seconds >= 0 && seconds < 9e9)) {
    PyErr_SetString(PyExc_ValueError, "takt.record(): the seconds are 0 or more, and less than 9e9");
    return nullptr;
  }
  takt_record(key, static_cast<std::int64_t>(seconds * 1e9 + 0.5));
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {
    {"region", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(make_region)), METH_FASTCALL | METH_KEYWORDS,
     "region(name, *, kind=None, stream=None, every=None)\n--\n\nWhat to time: for `with`, and as a decorator."},
    {"span", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(make_span)), METH_FASTCALL | METH_KEYWORDS,
     "span(name, *, kind=None)\n--\n\nTimes a duration that may overlap others, as in coroutines."},
    {"metric", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(metric)), METH_FASTCALL | METH_KEYWORDS,
     "metric(name, value, step=None)\n--\n\nRecords a number at the thread's current step, or at `step`."},
    {"record", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(record)), METH_FASTCALL,
     "record(name, seconds)\n--\n\nAdds a region that was timed elsewhere."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool add_regions(PyObject* module) {
  PyType_Slot slots[] = {{Py_tp_dealloc, slot(region_free)},
                         {Py_tp_call, slot(region_call)},
                         {Py_tp_repr, slot(region_repr)},
                         {Py_tp_methods, region_methods},
                         {Py_tp_getset, region_members},
                         {Py_tp_doc, const_cast<char*>("What to time. takt.region() and takt.span() make it.")},
                         {0, nullptr}};
  PyType_Spec spec = {"takt.Region", sizeof(Region), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  PyType_Slot timed_slots[] = {{Py_tp_new, slot(timed_new)},
                               {Py_tp_dealloc, slot(timed_free)},
                               {Py_tp_traverse, slot(timed_visit)},
                               {Py_tp_clear, slot(timed_clear)},
                               {Py_tp_call, slot(PyVectorcall_Call)},
                               {Py_tp_descr_get, slot(timed_bind)},
                               {Py_tp_getattro, slot(timed_get)},
                               {Py_tp_methods, timed_methods},
                               {Py_tp_members, timed_members},
                               {Py_tp_doc, const_cast<char*>("TimedCall(function, region[, method]): a function with "
                                                             "a region around each call.")},
                               {0, nullptr}};
  PyType_Spec timed_spec = {
      "takt.TimedCall", sizeof(TimedCall), 0,
      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR, timed_slots};
  PyObject* const types = PyImport_ImportModule("types");
  method_type = types == nullptr ? nullptr : PyObject_GetAttrString(types, "MethodType");
  Py_XDECREF(types);
  region_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  PyObject* const timed_type = PyType_FromSpec(&timed_spec);
  return method_type != nullptr && region_type != nullptr && timed_type != nullptr &&
         PyModule_AddFunctions(module, functions) == 0 &&
         PyModule_AddObjectRef(module, "Region", reinterpret_cast<PyObject*>(region_type)) == 0 &&
         PyModule_AddObjectRef(module, "TimedCall", timed_type) == 0;
}
