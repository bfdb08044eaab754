// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "wandb/wandb_upload.hpp"

TAKT_BEGIN_NAMESPACE
namespace detail {

struct WandbUpload::Impl {
  std::string run;
};

bool WandbUpload::available() noexcept { return false; }
void WandbUpload::check(const WandbOptions&) {}
// NOLINTNEXTLINE(performance-unnecessary-value-param): same signature as with libcurl
WandbUpload::WandbUpload(const WandbOptions&, const std::string&, WandbSent, Started, const WandbTimes&)
    : impl_(std::make_unique<Impl>()) {}
WandbUpload::~WandbUpload() = default;
bool WandbUpload::deliver(Time, bool) { return false; }
void WandbUpload::give_up_files() {}
bool WandbUpload::ended() const noexcept { return false; }
bool WandbUpload::complete() const noexcept { return false; }
bool WandbUpload::stopped() const noexcept { return true; }
std::uint64_t WandbUpload::lines() const noexcept { return 0; }
std::uint64_t WandbUpload::events() const noexcept { return 0; }
std::uint64_t WandbUpload::answers() const noexcept { return 0; }
bool WandbUpload::asking() const noexcept { return false; }
const std::string& WandbUpload::url() const noexcept { return impl_->run; }
const std::string& WandbUpload::run() const noexcept { return impl_->run; }
std::string WandbUpload::command() const { return ""; }

}  // namespace detail
TAKT_END_NAMESPACE
