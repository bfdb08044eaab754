// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// The module takt._trackers: a module of its own, so that only programs that use it load libcurl.
#include <takt/exporters/prometheus.hpp>
#include <takt/exporters/tensorboard.hpp>
#include <takt/exporters/wandb.hpp>
#include <takt/session.hpp>
#ifdef TAKT_PYTHON_MLFLOW
#include <takt/exporters/mlflow.hpp>
#endif

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <string>

namespace nb = nanobind;

namespace {

/// Adds a tracker with the options of the environment.
/// \param session address of the takt::Session.
/// \param tracker "mlflow", "wandb", "tensorboard" or "prometheus".
void add(std::uintptr_t session, const std::string& tracker) {
  auto& to = *reinterpret_cast<takt::Session*>(session);
  if (tracker == "wandb") {
    to.add(takt::WandbExporter::from_env());
  } else if (tracker == "tensorboard") {
    to.add(takt::TensorboardExporter::from_env());
  } else if (tracker == "prometheus") {
    to.add(takt::PrometheusExporter::from_env());
  } else {
#ifdef TAKT_PYTHON_MLFLOW
    to.add(takt::MlflowExporter::from_env());
#else
    throw nb::value_error("takt: this build has no MLflow: install libcurl's headers, then takt again");
#endif
  }
}

}  // namespace

NB_MODULE(_trackers, m) { m.def("add", &add, nb::call_guard<nb::gil_scoped_release>()); }
