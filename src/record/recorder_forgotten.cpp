// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Regions that outlived the next step or their thread: a line for each on stderr.
#include "record/recorder.hpp"

#include "base/fault.hpp"

#include <takt/timer.hpp>

#include <string>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr const char* kNotEnded = "had not ended when the next step or its thread had; is its end missing?";

/// "Batch/Forward"; empty for the root.
std::string path_text(const KeyTable& keys, const Node* node) {
  if (node->parent == nullptr) { return {}; }
  const std::string above = path_text(keys, node->parent);
  const std::string name(keys.name(static_cast<KeyIndex>(node->key)));
  return above.empty() ? name : above + "/" + name;
}

void warn_never_ended(const KeyTable& keys, const Node& node) {
  const std::string place = path_text(keys, node.parent);
  const std::string name(keys.name(static_cast<KeyIndex>(node.key)));
  const std::string began = place.empty() ? "outside of any region" : "in " + place;
  const std::string line = "\"" + name + "\", which began " + began + ", " + kNotEnded;
  report_fault_once(line, line);
}

}  // namespace

/// For a Timer with books of its own, which knows the library where there is one.
TAKT_EXPORT void report_forgotten(const char* line) noexcept { report_fault_once(line, line); }

void Recorder::tell_forgotten(const KeyTable& keys) {
  const std::uint64_t given_up = tree_.given_up();
  if (told_given_up_.exchange(given_up, std::memory_order_relaxed) == given_up) { return; }
  for (std::uint32_t index = 0; index < tree_.nodes(); ++index) {
    const Node& node = *tree_.node(index);
    if (node.never_ended.get() != 0) { warn_never_ended(keys, node); }
  }
}

}  // namespace detail
TAKT_END_NAMESPACE
