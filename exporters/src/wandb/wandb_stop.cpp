// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "wandb/wandb_stop.hpp"

#include "base/fault.hpp"

#include <exception>
#include <string>

TAKT_BEGIN_NAMESPACE
namespace detail {

void tell_wandb_stop(const std::function<void()>& on_stop) {
  if (!on_stop) {
    return report_fault("wandb.stop",
                        "somebody has asked W&B to stop this run, and the program has no WandbOptions::on_stop for "
                        "that; end it if you agree");
  }
  report_fault("wandb.stop", "somebody has asked W&B to stop this run; the program is told (WandbOptions::on_stop)");
  try {
    on_stop();
  } catch (const std::exception& error) {
    report_fault("wandb.on_stop", std::string("WandbOptions::on_stop has thrown: ") + error.what());
  } catch (...) { report_fault("wandb.on_stop", "WandbOptions::on_stop has thrown"); }
}

}  // namespace detail
TAKT_END_NAMESPACE
