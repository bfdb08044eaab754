// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/detail/trial_loop.hpp>
#include <takt/trial_options.hpp>

#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#if TAKT_ENABLED

TAKT_BEGIN_NAMESPACE
namespace detail {

/// SYNTHETIC's batch, repeated with the type of `*iterator`. A reference is repeated as it is: the loader is not asked
/// for another batch meanwhile.
template <class Reference>
class KeptBatch {  // by value, or by rvalue reference: a copy each time
  using Batch = std::remove_cv_t<std::remove_reference_t<Reference>>;

 public:
  static constexpr bool possible = can_be_again<Batch>;

  bool is_there() const noexcept { return batch_.has_value(); }
  template <class Iterator>
  const Batch& keep(Iterator& at) {
    return batch_.emplace(*at);
  }
  Reference give(TrialLoop& loop) {
    const TrialCopy timed(loop);
    if constexpr (std::is_reference_v<Reference>) {
      given_.emplace(again_of(*batch_));
      return static_cast<Reference>(*given_);
    } else {
      return again_of(*batch_);
    }
  }

 private:
  std::optional<Batch> batch_;
  std::optional<Batch> given_;  // target of a reference to a copy
};

template <class Batch>
class KeptBatch<Batch&> {
 public:
  static constexpr bool possible = true;

  bool is_there() const noexcept { return batch_ != nullptr; }
  template <class Iterator>
  const Batch& keep(Iterator& at) {
    batch_ = std::addressof(*at);
    return *batch_;
  }
  Batch& give(TrialLoop&) noexcept { return *batch_; }

 private:
  Batch* batch_ = nullptr;
};

}  // namespace detail
TAKT_END_NAMESPACE

#endif
