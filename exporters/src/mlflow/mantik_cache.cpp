// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "mlflow/mantik_cache.hpp"

#include "base/fault.hpp"
#include "base/file.hpp"

#include <cerrno>
#include <system_error>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t kMostBytes = 65'536;

void report_unwritable(const std::string& file, const std::string& why) {
  report_fault_once("mantik.cache.write", "Mantik's tokens cannot be kept in " + file + " (" + why +
                                              "), so that each process asks for its own; make the folder writable");
}

}  // namespace

MantikCache::MantikCache(std::string file, std::string username, std::chrono::milliseconds patience)
    : file_(std::move(file)), username_(std::move(username)), patience_(patience) {}

bool MantikCache::refuse(const std::string& why) {
  report_fault_once("mantik.cache.read", "the tokens in " + file_ + " are not used: " + why);
  return false;
}

bool MantikCache::read(MantikTokens& tokens) {
  struct stat status = {};
  foreign_ = false;
  if (file_.empty()) { return false; }
  if (::lstat(file_.c_str(), &status) != 0) {
    return errno != ENOENT && refuse("they cannot be looked at: " + std::system_category().message(errno));
  }
  foreign_ = status.st_uid != ::geteuid();
  if (foreign_) {
    return refuse("the file belongs to another user of this machine; remove it, or set HOME to your own folder");
  }
  std::string text;
  if (!read_from(file_, 0, kMostBytes, text)) {
    return refuse("the file cannot be read (" + std::system_category().message(errno) + "); remove it");
  }
  MantikTokens found;
  if (!parse_mantik_cache(text, found)) {
    return refuse("it is not what Mantik's client writes there; new ones will replace it");
  }
  const std::string user = mantik_user_of(found.access);
  foreign_ = !user.empty() && user != username_;
  if (foreign_) {
    return refuse("they are of the user " + user + ", and MANTIK_USERNAME is " + username_ + "; set it to " + user +
                  " if that is the same person, or remove the file");
  }
  tokens = std::move(found);
  return true;
}

/// Whether there can be other files beside it.
bool MantikCache::prepare_folder() {
  const std::size_t slash = file_.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : file_.substr(0, slash + 1);
  if (::mkdir(folder.c_str(), S_IRWXU) != 0 && errno != EEXIST) { return false; }
  return ::access(folder.c_str(), W_OK | X_OK) == 0;
}

bool MantikCache::lock() {
  if (file_.empty() || foreign_ || lease_.held()) { return true; }
  if (!has_folder_ && !prepare_folder()) {
    report_unwritable(file_, std::system_category().message(errno));
    file_.clear();
    return true;
  }
  has_folder_ = true;
  if (lease_.take(file_ + ".lease")) { return true; }
  if (lease_.is_broken()) {  // no room, no quota: whoever waited would wait for nobody
    report_unwritable(file_, lease_.problem().substr(0, lease_.problem().find(';')));
    return true;
  }
  const auto now = steady_clock::now();
  if (patient_until_ == Time()) { patient_until_ = now + patience_; }
  return now >= patient_until_;
}

void MantikCache::unlock() noexcept {
  lease_.release();
  patient_until_ = Time();
}

void MantikCache::write(const MantikTokens& tokens) {
  if (file_.empty() || foreign_) { return; }
  // One that was left behind would be set aside, with tokens in it.
  const std::string part = file_ + ".part";
  ::unlink(part.c_str());
  WholeFile file;
  if (file.open(file_) && file.write(format_mantik_cache(tokens)) && file.commit()) { return; }
  ::unlink(part.c_str());
  report_unwritable(file_, file.error().substr(0, file.error().find(';')));
}

}  // namespace detail
TAKT_END_NAMESPACE
