// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// The module takt._takt: runs, trials and measurements. regions.cpp has what runs in each step.
#include "regions.hpp"

#include <takt/detail/program_file.hpp>
#include <takt/measure.hpp>
#include <takt/scope.hpp>
#include <takt/session.hpp>
#include <takt/trials.hpp>

#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <takt.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace nb = nanobind;

namespace {

using Options = std::map<std::string, std::string>;

/// Sets options by the names of their variables.
/// \throws nb::value_error for an unknown name or an invalid value.
takt::SessionOptions session_options(const Options& given) {
  const std::unique_ptr<takt_options, void (*)(takt_options*)> options(takt_options_new(), takt_options_free);
  if (options == nullptr) { throw std::bad_alloc(); }
  for (const auto& [name, value] : given) {
    if (takt_options_set(options.get(), name.c_str(), value.c_str()) != TAKT_OK) {
      throw nb::value_error(takt_last_error());
    }
  }
  return *reinterpret_cast<const takt::SessionOptions*>(options.get());  // as libtakt makes them
}

/// Never destroyed: a run that Python forgets is closed at the exit of the process.
class Run {
 public:
  Run(const std::string& name, const Options& options)
      : session_(new takt::Session(name.c_str(), session_options(options))) {}

  takt::Session& session() const noexcept { return *session_; }

 private:
  takt::Session* session_;
};

nb::dict identity(const Run& run) {
  const takt::RunInfo& info = run.session().run();
  nb::dict result;
  result["name"] = info.name;
  result["id"] = info.id;
  result["rank"] = info.rank;
  result["world_size"] = info.world_size;
  result["directory"] = info.directory;
  return result;
}

/// Returns seconds as milliseconds.
/// \throws nb::value_error if they are not 0 or more, and at most a day.
std::chrono::milliseconds milliseconds(const char* name, double seconds) {
  if (!(seconds >= 0 && seconds <= 86'400)) {
    throw nb::value_error((std::string(name) + ": seconds are 0 to 86400").c_str());
  }
  return std::chrono::milliseconds(std::llround(seconds * 1000));
}

std::function<void()> function_from(nb::handle callable) {
  return [held = nb::borrow<nb::object>(callable)] { held(); };
}

takt::TrialOptions trial_options(const nb::dict& given) {
  takt::TrialOptions options = takt::TrialOptions::from_env();
  const auto set_bool = [](bool& to) { return [&to](nb::handle value) { to = nb::cast<bool>(value); }; };
  const auto set_int = [](int& to) { return [&to](nb::handle value) { to = nb::cast<int>(value); }; };
  const auto set_function = [](std::function<void()>& to) {
    return [&to](nb::handle value) { to = function_from(value); };
  };
  const std::map<std::string, std::function<void(nb::handle)>> setters = {
      {"io", set_bool(options.io)},
      {"synthetic", set_bool(options.synthetic)},
      {"full", set_bool(options.full)},
      {"trials", set_int(options.trials)},
      {"warmup", set_int(options.warmup)},
      {"steps", set_int(options.steps)},
      {"time_limit",
       [&](nb::handle value) { options.time_limit = milliseconds("time_limit", nb::cast<double>(value)); }},
      {"progress_steps", set_int(options.progress_steps)},
      {"go_on", set_bool(options.go_on)},
      {"reset", set_function(options.reset)},
      {"save", set_function(options.save)},
      {"restore", set_function(options.restore)},
      {"barrier", set_function(options.barrier)},
      {"time_loader", set_bool(options.time_loader)},
      {"wait", set_function(options.wait)},
      {"items", [&](nb::handle value) { options.items = nb::cast<std::int64_t>(value); }},
      {"batch_place", [&](nb::handle value) { options.batch_place = nb::cast<std::string>(value); }},
  };
  for (const auto& [name, value] : given) {
    const auto setter = setters.find(nb::cast<std::string>(name));
    if (setter == setters.end()) {
      throw nb::type_error(("takt.trials() has no option '" + nb::cast<std::string>(name) + "'").c_str());
    }
    try {
      setter->second(value);
    } catch (const nb::cast_error&) {
      throw nb::type_error(("takt.trials(): the option '" + setter->first + "' has a value of a wrong type").c_str());
    }
  }
  return options;
}

/// A batch of the loader. Takt looks into a value that has operator*, and nb::object has one for another purpose.
struct Batch {
  nb::object object;
};

/// The iterator of takt.trials(). Its end, also by a break, ends the trials.
class Trials {
 public:
  Trials(nb::object run, nb::object loader, const nb::dict& options)
      : run_(std::move(run)),
        loader_(std::move(loader)),
        batches_(nb::iter(loader_)),
        trials_(nb::cast<const Run&>(run_).session(), with_reset(trial_options(options))) {}

  nb::object next() {
    std::optional<Batch> batch = trials_.next([this] { return pull(); });
    if (!batch) { throw nb::stop_iteration(); }
    return std::move(batch->object);
  }

 private:
  /// An iterator that is its own loader, such as a generator, cannot start again by itself.
  takt::TrialOptions with_reset(takt::TrialOptions options) {
    if (!loader_.is(batches_)) {
      options.reset = [this, own = std::move(options.reset)] {
        if (own) { own(); }
        batches_ = nb::iter(loader_);
      };
    }
    return options;
  }
  std::optional<Batch> pull() {
    PyObject* const batch = PyIter_Next(batches_.ptr());
    if (batch != nullptr) { return Batch{nb::steal<nb::object>(batch)}; }
    if (PyErr_Occurred() != nullptr) { throw nb::python_error(); }
    return std::nullopt;
  }

  friend int visit_trials(PyObject* self, visitproc visit, void* arg);
  friend int clear_trials(PyObject* self);

  nb::object run_;
  nb::object loader_;
  nb::object batches_;
  takt::detail::TrialPull<true> trials_;
};

// For Python's garbage collector: a loader may hold its trials.
int visit_trials(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (nb::inst_ready(self)) {
    const Trials& trials = *nb::inst_ptr<Trials>(self);
    Py_VISIT(trials.run_.ptr());
    Py_VISIT(trials.loader_.ptr());
    Py_VISIT(trials.batches_.ptr());
  }
  return 0;
}
int clear_trials(PyObject* self) {
  if (!nb::inst_ready(self)) { return 0; }
  Trials& trials = *nb::inst_ptr<Trials>(self);
  trials.loader_ = nb::none();
  trials.batches_ = nb::none();
  return 0;
}
PyType_Slot trials_slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(visit_trials)},
                              {Py_tp_clear, reinterpret_cast<void*>(clear_trials)},
                              {0, nullptr}};

nb::object or_none(bool known, double value) { return known ? nb::cast(value) : nb::none(); }
template <class T>
nb::object or_none(const std::optional<T>& value) {
  return value ? nb::cast(*value) : nb::none();
}

nb::object times(const takt::MeasuredTimes& of) {
  if (of.n == 0) { return nb::none(); }
  nb::dict result;
  result["n"] = of.n;
  result["mean_ns"] = of.mean_ns;
  result["stdev_ns"] = of.stdev_ns;
  result["min_ns"] = of.min_ns;
  result["max_ns"] = of.max_ns;
  result["median_ns"] = of.median_ns;
  result["low_ns"] = or_none(of.has_interval, of.low_ns);
  result["high_ns"] = or_none(of.has_interval, of.high_ns);
  static constexpr const char* kNames[] = {"p90_ns", "p95_ns", "p99_ns", "p999_ns"};
  for (std::size_t each = 0; each < of.percentiles_ns.size(); ++each) {
    result[kNames[each]] = or_none(of.percentiles_ns[each]);
  }
  return result;
}

nb::dict measurement(const takt::Measurement& of) {
  nb::dict features;
  for (const auto& [name, value] : of.features) { features[name.c_str()] = value; }
  nb::dict result;
  result["name"] = of.name;
  result["features"] = features;
  result["end"] = takt::to_string(of.end);
  result["warmup"] = of.warmup;
  result["items"] = of.items;
  result["items_per_s"] = of.items_per_s();
  result["first_ns"] = of.first_ns;
  result["took_ns"] = of.took_ns;
  result["failed_waits"] = of.failed_waits;
  result["host"] = times(of.host);
  result["stream"] = times(of.stream);
  result["memory_bytes"] = or_none(of.memory_bytes);
  result["memory_of"] = of.memory_of;
  result["host_peak_bytes"] = or_none(of.host_peak_bytes);
  result["joules"] = or_none(of.joules);
  result["error_joules"] = or_none(of.joules.has_value(), of.error_joules);
  result["energy_of"] = of.energy_of;
  result["no_energy"] = of.no_energy;
  return result;
}

nb::dict measure(const Run& run, const std::string& name, const nb::callable& function, int warmup, int runs,
                 double interval, double time_limit, std::int64_t items,
                 const std::map<std::string, double>& features) {
  takt::MeasureOptions options;
  options.warmup = warmup;
  options.runs = runs;
  options.interval = interval;
  options.time_limit = milliseconds("time_limit", time_limit);
  options.items = items;
  options.features.assign(features.begin(), features.end());
  return measurement(takt::measure(
      run.session(), name, [&function] { function(); }, options));
}

std::string snapshot_json() {
  const std::unique_ptr<char, void (*)(void*)> text(takt_snapshot_json(), takt_free);
  if (text == nullptr) { throw std::runtime_error(takt_last_error()); }
  return text.get();
}

}  // namespace

NB_MODULE(_takt, m) {
  nb::set_leak_warnings(false);  // daemon threads keep a program's globals at its end
  if (!add_regions(m.ptr())) { throw nb::python_error(); }
  const auto unlocked = nb::call_guard<nb::gil_scoped_release>();

  nb::class_<Run>(m, "Run")
      .def(nb::init<const std::string&, const Options&>(), unlocked)
      .def("identity", &identity)
      .def("address", [](const Run& run) { return reinterpret_cast<std::uintptr_t>(&run.session()); })
      .def("param", [](const Run& run, const std::string& name, double value) { run.session().param(name, value); })
      .def("param",
           [](const Run& run, const std::string& name, const std::string& value) { run.session().param(name, value); })
      .def("tag",
           [](const Run& run, const std::string& name, const std::string& value) { run.session().tag(name, value); })
      .def("group", [](const Run& run, const std::string& name, int number) { run.session().group(name, number); })
      .def("fail", [](const Run& run) { run.session().fail(); })
      .def(
          "print", [](const Run& run) { run.session().print(); }, unlocked)
      .def(
          "close", [](const Run& run) { return run.session().close(); }, unlocked);

  nb::class_<Trials>(m, "Trials", nb::type_slots(trials_slots))
      .def(nb::init<nb::object, nb::object, const nb::dict&>())
      .def("__iter__", [](nb::handle self) { return nb::borrow<nb::object>(self); })
      .def("__next__", &Trials::next);

  m.def("set_program_file", &takt::detail::set_program_file);
  m.def("measure", &measure);
  m.def("snapshot_json", &snapshot_json, unlocked);
  m.def("step", [](std::int64_t number) { takt_step(number); });
  m.def("name_thread", [](const std::string& name) { takt::name_thread(name.c_str()); });
  m.def("set_enabled", [](bool on) { takt::set_enabled(on); });
  m.def("enabled", [] { return takt::enabled(); });
}
