// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "http/http.hpp"

#include <takt/error.hpp>

#include "base/descriptor.hpp"
#include "base/fault.hpp"

#include <curl/curl.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

struct Free {
  void operator()(CURLM* multi) const { curl_multi_cleanup(multi); }
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
  void operator()(std::FILE* file) const { std::fclose(file); }
};
struct FreeEasy {  // CURL and CURLM are both void
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};
using List = std::unique_ptr<curl_slist, Free>;

void append(List& list, const std::string& line) {
  if (curl_slist* longer = curl_slist_append(list.get(), line.c_str())) {
    (void)list.release();
    list.reset(longer);
  }
}

/// -1 for what is none.
double number_in(std::string_view text) {
  const std::string copy(text);
  char* end = nullptr;
  const double number = std::strtod(copy.c_str(), &end);
  return end == copy.c_str() || !std::isfinite(number) || number < 0 ? -1 : number;
}

bool is_open_number(const Descriptor& socket) { return ::fcntl(socket.number(), F_GETFD) != -1; }

/// Who is left behind at the end of the process may be in the middle of a connection. On the way out of exit() OpenSSL would
/// free what that works with, and the process would crash; what it keeps instead goes with the process.
void keep_openssl_at_exit() {
  using Init = int (*)(std::uint64_t options, const void* settings);
  constexpr std::uint64_t kNoAtExit = 0x00080000;  // OPENSSL_INIT_NO_ATEXIT of <openssl/crypto.h>, 1.1.1 and later
  // libcurl may have been built on something else; then there is no such function.
  if (const auto init = reinterpret_cast<Init>(::dlsym(RTLD_DEFAULT, "OPENSSL_init_crypto"))) {
    init(kNoAtExit, nullptr);
  }
}

}  // namespace

struct Http::Impl {
  explicit Impl(const HttpOptions& given) : options(given) {}
  ~Impl() {
    if (!has_sockets()) { leave(); }
    if (busy) { curl_multi_remove_handle(multi.get(), easy.get()); }
  }

  void set_up();
  void authorize(CURL* handle);
  bool open_file();
  void prepare();
  void end(CURLcode code, HttpReply& reply);
  static std::size_t write(char* bytes, std::size_t size, std::size_t count, void* self);
  static std::size_t read_header(char* bytes, std::size_t size, std::size_t count, void* self);
  static int seek(void* file, curl_off_t offset, int origin);
  static curl_socket_t open_socket(void* self, curlsocktype purpose, curl_sockaddr* address);
  static int close_socket(void* self, curl_socket_t socket);
  bool has_sockets() const;
  void forget_closed();
  void leave() noexcept;
  void abandon();

  HttpOptions options;
  std::vector<Descriptor> sockets;     // outlive multi
  bool withheld = false;               // credentials, from a connection that everybody can read
  std::unique_ptr<CURLM, Free> multi;  // outlives easy
  std::unique_ptr<CURL, FreeEasy> easy;
  HttpRequest request;
  List headers;
  std::unique_ptr<std::FILE, Free> file;
  std::string body;  // of the reply
  double rate_remaining = -1;
  double rate_reset_s = -1;
  bool too_long = false;
  bool busy = false;
  bool connected = false;
  steady_clock::duration waited{0};
  char error[CURL_ERROR_SIZE] = {};
};

void Http::Impl::authorize(CURL* handle) {
  const bool basic = !options.username.empty() && !options.password.empty();
  if (!basic && options.token.empty()) { return; }
  if (withheld) {
    report_fault_once(std::string(options.names.cause) + ".plain",
                      "user, password, key and token are not sent to " + options.url +
                          ", where everybody on the way could read them; use https, or say that you mean it with " +
                          options.names.insecure_tls + "=true");
    return;
  }
  if (basic) {
    curl_easy_setopt(handle, CURLOPT_HTTPAUTH, static_cast<long>(CURLAUTH_BASIC));
    curl_easy_setopt(handle, CURLOPT_USERNAME, options.username.c_str());
    curl_easy_setopt(handle, CURLOPT_PASSWORD, options.password.c_str());
  } else {
    append(headers, "Authorization: Bearer " + options.token);
  }
}

/// What the program has closed, and has for its own by now, is neither written to nor closed.
curl_socket_t Http::Impl::open_socket(void* self, curlsocktype /*purpose*/, curl_sockaddr* address) {
  auto& impl = *static_cast<Impl*>(self);
  Descriptor made(::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol));
  if (!made.is_open()) { return CURL_SOCKET_BAD; }
  close_socket(self, made.number());  // what had this number is closed
  impl.sockets.push_back(std::move(made));
  return impl.sockets.back().number();
}

int Http::Impl::close_socket(void* self, curl_socket_t socket) {
  auto& sockets = static_cast<Impl*>(self)->sockets;
  const auto found =
      std::find_if(sockets.begin(), sockets.end(), [&](const Descriptor& each) { return each.number() == socket; });
  if (found != sockets.end()) { sockets.erase(found); }
  return 0;
}

/// None of their numbers is that of another file by now. One that is closed is nobody's: libcurl notices.
bool Http::Impl::has_sockets() const {
  return std::none_of(sockets.begin(), sockets.end(),
                      [](const Descriptor& each) { return is_open_number(each) && !each.is_ours(); });
}

/// Some that did not come to a connection libcurl closes by itself.
void Http::Impl::forget_closed() {
  sockets.erase(
      std::remove_if(sockets.begin(), sockets.end(), [](const Descriptor& each) { return !is_open_number(each); }),
      sockets.end());
}

/// The program has closed a connection. To clean it up would be to say goodbye under a number that may be that of a file of its own.
void Http::Impl::leave() noexcept {
  try {
    // Kept where leak checkers find them.
    static std::mutex mutex;
    static auto* const kept = new std::vector<std::pair<CURL*, CURLM*>>;
    const std::lock_guard<std::mutex> lock(mutex);
    kept->emplace_back(easy.release(), multi.release());
  } catch (const std::bad_alloc&) {
    (void)easy.release();
    (void)multi.release();
  }
  sockets.clear();
  busy = false;
}

void Http::Impl::abandon() {
  report_closed_file("a connection to " + options.url);
  leave();
  multi.reset(curl_multi_init());
  easy.reset(curl_easy_init());
}

void Http::Impl::set_up() {
  static std::once_flag once;
  std::call_once(once, [] {
    keep_openssl_at_exit();
    curl_global_init(CURL_GLOBAL_DEFAULT);
  });
  withheld = !check_http_options(options);
  if (options.insecure_tls && options.ca_path.empty()) {
    report_fault_once(std::string(options.names.cause) + ".insecure", std::string(options.names.insecure_tls) +
                                                                          ": nobody checks that " + options.url +
                                                                          " is the server it says it is");
  }
  multi.reset(curl_multi_init());
  easy.reset(curl_easy_init());
  if (multi == nullptr || easy == nullptr) { throw Error("libcurl could not be set up: out of memory"); }
}

std::size_t Http::Impl::write(char* bytes, std::size_t size, std::size_t count, void* self) {
  auto& impl = *static_cast<Impl*>(self);
  if (impl.body.size() + size * count > impl.request.most_reply) {
    impl.too_long = true;
    return 0;  // ends the transfer
  }
  impl.body.append(bytes, size * count);
  return size * count;
}

std::size_t Http::Impl::read_header(char* bytes, std::size_t size, std::size_t count, void* self) {
  auto& impl = *static_cast<Impl*>(self);
  const std::string_view line(bytes, size * count);
  const std::string_view kRemaining = "ratelimit-remaining:";
  const std::string_view kReset = "ratelimit-reset:";
  const auto begins_with = [&](std::string_view name) {
    return line.size() > name.size() && std::equal(name.begin(), name.end(), line.begin(), [](char want, char is) {
             return want == std::tolower(static_cast<unsigned char>(is));
           });
  };
  if (begins_with(kRemaining)) { impl.rate_remaining = number_in(line.substr(kRemaining.size())); }
  if (begins_with(kReset)) { impl.rate_reset_s = number_in(line.substr(kReset.size())); }
  return line.size();
}

int Http::Impl::seek(void* file, curl_off_t offset, int origin) {
  return ::fseeko(static_cast<std::FILE*>(file), static_cast<off_t>(offset), origin) == 0 ? CURL_SEEKFUNC_OK
                                                                                          : CURL_SEEKFUNC_FAIL;
}

bool Http::Impl::open_file() {
  struct stat status = {};
  // Again for each try, and none of the program's, should that have the number by now.
  Descriptor descriptor = request.file->copy();
  if (!descriptor.look(status) || ::lseek(descriptor.number(), 0, SEEK_SET) != 0) { return false; }
  file.reset(::fdopen(descriptor.number(), "rb"));
  if (file == nullptr) { return false; }
  descriptor.forget();
  CURL* const handle = easy.get();
  curl_easy_setopt(handle, CURLOPT_UPLOAD, 1L);
  curl_easy_setopt(handle, CURLOPT_READDATA, file.get());
  curl_easy_setopt(handle, CURLOPT_SEEKFUNCTION, &Impl::seek);
  curl_easy_setopt(handle, CURLOPT_SEEKDATA, file.get());
  // Without a length curl sends chunks, of which some servers store nothing.
  curl_easy_setopt(handle, CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(status.st_size));
  return true;
}

void Http::Impl::prepare() {
  CURL* const handle = easy.get();
  curl_easy_reset(handle);  // keeps connections
  headers.reset();
  const std::string url = options.url + request.path;
  curl_easy_setopt(handle, CURLOPT_URL, url.c_str());
  curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
#if LIBCURL_VERSION_NUM >= 0x075500
  curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
#else
  curl_easy_setopt(handle, CURLOPT_PROTOCOLS, static_cast<long>(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
#if LIBCURL_VERSION_NUM >= 0x075700
  curl_easy_setopt(handle, CURLOPT_QUICK_EXIT, 1L);  // does not wait for a name that is being looked up
#endif
  // A proxy would look for it on its own machine.
  if (is_on_this_machine(options.url)) { curl_easy_setopt(handle, CURLOPT_NOPROXY, "*"); }
  curl_easy_setopt(handle, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(handle, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  const bool trust_all = options.insecure_tls && options.ca_path.empty();
  curl_easy_setopt(handle, CURLOPT_SSL_VERIFYPEER, trust_all ? 0L : 1L);
  curl_easy_setopt(handle, CURLOPT_SSL_VERIFYHOST, trust_all ? 0L : 2L);
  if (!options.ca_path.empty()) { curl_easy_setopt(handle, CURLOPT_CAINFO, options.ca_path.c_str()); }
  if (!options.client_cert_path.empty()) {
    curl_easy_setopt(handle, CURLOPT_SSLCERT, options.client_cert_path.c_str());
    curl_easy_setopt(handle, CURLOPT_SSLKEY, options.client_cert_path.c_str());
  }
  curl_easy_setopt(handle, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(handle, CURLOPT_FRESH_CONNECT, request.fresh ? 1L : 0L);
  curl_easy_setopt(handle, CURLOPT_USERAGENT, "takt");
  curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, &Impl::write);
  curl_easy_setopt(handle, CURLOPT_WRITEDATA, this);
  curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, &Impl::read_header);
  curl_easy_setopt(handle, CURLOPT_HEADERDATA, this);
  curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, error);
  curl_easy_setopt(handle, CURLOPT_OPENSOCKETFUNCTION, &Impl::open_socket);
  curl_easy_setopt(handle, CURLOPT_OPENSOCKETDATA, this);
  curl_easy_setopt(handle, CURLOPT_CLOSESOCKETFUNCTION, &Impl::close_socket);
  curl_easy_setopt(handle, CURLOPT_CLOSESOCKETDATA, this);
  append(headers, "Expect:");  // some proxies never say "100 Continue"
  authorize(handle);
}

/// What became of the transfer.
void Http::Impl::end(CURLcode code, HttpReply& reply) {
  CURL* const handle = easy.get();
  long status = 0;
  curl_off_t after = 0;
  curl_off_t connected_us = 0;
  const char* location = nullptr;
  curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
  curl_easy_getinfo(handle, CURLINFO_RETRY_AFTER, &after);
  curl_easy_getinfo(handle, CURLINFO_REDIRECT_URL, &location);
  curl_easy_getinfo(handle, CURLINFO_PRETRANSFER_TIME_T, &connected_us);
  reply = HttpReply();
  reply.may_have_arrived = connected_us > 0;
  reply.too_long = too_long;
  if (code == CURLE_OK) {
    reply.status = static_cast<int>(status);
  } else if (too_long) {
    reply.error = "the reply is longer than " + std::to_string(request.most_reply) + " bytes";
  } else {
    reply.error = error[0] != '\0' ? error : curl_easy_strerror(code);
    if (code == CURLE_PEER_FAILED_VERIFICATION) {
      reply.error += std::string(". If it is your server: ") + options.names.ca_path +
                     " is for the PEM file of its authority, and the host in " + options.names.url +
                     " has to be one that its certificate is for";
    }
  }
  reply.body = std::move(body);
  reply.location = location == nullptr ? "" : location;
  reply.retry_after_s = std::max<std::int64_t>(0, after);
  reply.rate_remaining = rate_remaining;
  reply.rate_reset_s = rate_reset_s;
}

Http::Http(const HttpOptions& options) : impl_(std::make_unique<Impl>(options)) { impl_->set_up(); }
Http::~Http() = default;
bool Http::busy() const noexcept { return impl_->busy; }
const std::string& Http::url() const noexcept { return impl_->options.url; }

std::string Http::without_secrets(std::string text) const {
  return detail::without_secrets(std::move(text), impl_->options);
}

std::string Http::told(const HttpReply& reply, std::string said) const {
  if (reply.status == 0) { return without_secrets(reply.error); }
  if (said.empty()) { said = reply.body; }
  said = without_secrets(std::move(said));  // before one of them is cut in two
  constexpr std::size_t kMost = 300;
  if (said.size() > kMost) { said = said.substr(0, kMost) + "..."; }
  return "HTTP " + std::to_string(reply.status) + (said.empty() ? "" : ": " + said);
}

void Http::set_token(const std::string& token) {
  impl_->options.username.clear();
  impl_->options.password.clear();
  impl_->options.token = token;
}

void Http::start(HttpRequest request) {
  Impl& impl = *impl_;
  impl.request = std::move(request);
  impl.body.clear();
  impl.file.reset();
  impl.too_long = impl.connected = false;
  impl.rate_remaining = impl.rate_reset_s = -1;
  impl.error[0] = '\0';
  impl.waited = {};
  if (!impl.has_sockets()) { impl.abandon(); }
  if (impl.multi == nullptr || impl.easy == nullptr) { return; }  // out of memory
  impl.prepare();
  CURL* const handle = impl.easy.get();
  if (impl.request.file != nullptr && !impl.open_file()) {
    std::snprintf(impl.error, sizeof impl.error, "a file to send cannot be read");
    return;
  }
  if (impl.file == nullptr && impl.request.method != "GET") {
    curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(impl.request.body.size()));
    curl_easy_setopt(handle, CURLOPT_POSTFIELDS, impl.request.body.c_str());
  }
  curl_easy_setopt(handle, CURLOPT_CUSTOMREQUEST, impl.request.method.c_str());
  append(impl.headers, "Content-Type: " + impl.request.content_type);
  for (const std::string& each : impl.request.headers) { append(impl.headers, each); }
  curl_easy_setopt(handle, CURLOPT_HTTPHEADER, impl.headers.get());
  impl.busy = curl_multi_add_handle(impl.multi.get(), handle) == CURLM_OK;
}

bool Http::wait(Time until, HttpReply& reply) {
  Impl& impl = *impl_;
  CURLcode code = CURLE_OK;
  bool ended = !impl.busy;
  if (ended) { code = CURLE_FAILED_INIT; }
  while (!ended) {
    const Time before = steady_clock::now();
    if (!impl.has_sockets()) {
      const bool connected = impl.connected;
      impl.abandon();
      reply = HttpReply();
      reply.may_have_arrived = connected;
      reply.error = "the program has closed the connection";
      return true;
    }
    int running = 0;
    curl_multi_perform(impl.multi.get(), &running);
    int left = 0;
    while (const CURLMsg* message = curl_multi_info_read(impl.multi.get(), &left)) {
      if (message->msg == CURLMSG_DONE) {
        code = message->data.result;
        ended = true;
      }
    }
    if (ended) { break; }
    if (!impl.connected) {
      curl_off_t connected_us = 0;
      curl_easy_getinfo(impl.easy.get(), CURLINFO_PRETRANSFER_TIME_T, &connected_us);
      impl.connected = connected_us > 0;
    }
    const auto total = std::max(impl.options.total, impl.request.total);
    const auto most = impl.connected ? total : std::min(impl.options.connect, total);
    if (impl.waited >= most) {
      code = CURLE_OPERATION_TIMEDOUT;
      std::snprintf(impl.error, sizeof impl.error, "no %s within %lld ms", impl.connected ? "reply" : "connection",
                    static_cast<long long>(most.count()));
      break;
    }
    const Time now = steady_clock::now();
    if (now >= until) { return false; }
    const auto slice = std::min<steady_clock::duration>({until - now, most - impl.waited, milliseconds(1000)});
    curl_multi_poll(impl.multi.get(), nullptr, 0, static_cast<int>(std::chrono::ceil<milliseconds>(slice).count()),
                    nullptr);
    impl.waited += steady_clock::now() - before;
  }
  impl.end(code, reply);
  if (impl.busy) { curl_multi_remove_handle(impl.multi.get(), impl.easy.get()); }
  impl.busy = false;
  impl.forget_closed();
  return true;
}

}  // namespace detail
TAKT_END_NAMESPACE
