// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "trackers/http.hpp"

#include "base/file.hpp"
#include "base/report_error.hpp"
#include "base/threads.hpp"

#include <takt/error.hpp>

#include <curl/curl.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
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

/// Returns -1 if the text is not a number.
double number_in(std::string_view text) {
  const std::string copy(text);
  char* end = nullptr;
  const double number = std::strtod(copy.c_str(), &end);
  return end == copy.c_str() || !std::isfinite(number) || number < 0 ? -1 : number;
}

/// \param name in lower case.
bool begins_with(std::string_view line, std::string_view name) {
  return line.size() > name.size() && std::equal(name.begin(), name.end(), line.begin(), [](char want, char is) {
           return want == std::tolower(static_cast<unsigned char>(is));
         });
}

}  // namespace

void HttpRate::read(std::string_view line) {
  const std::string_view kRemaining = "ratelimit-remaining:";
  const std::string_view kReset = "ratelimit-reset:";
  if (begins_with(line, kRemaining)) { remaining = number_in(line.substr(kRemaining.size())); }
  if (begins_with(line, kReset)) { reset_s = number_in(line.substr(kReset.size())); }
}

namespace {

/// Keeps OpenSSL from cleaning up in exit(): a thread may still be using a connection, and the process would crash. The
/// memory is freed with the process.
void keep_openssl_at_exit() {
  using Init = int (*)(std::uint64_t options, const void* settings);
  constexpr std::uint64_t kNoAtExit = 0x00080000;  // OPENSSL_INIT_NO_ATEXIT of <openssl/crypto.h>, 1.1.1 and later
  // libcurl may use another TLS library; then this function is missing.
  if (const auto init = reinterpret_cast<Init>(::dlsym(RTLD_DEFAULT, "OPENSSL_init_crypto"))) {
    init(kNoAtExit, nullptr);
  }
}

}  // namespace

void set_up_http_library() {
  static std::once_flag once;
  std::call_once(once, [] {
    keep_openssl_at_exit();
    curl_global_init(CURL_GLOBAL_DEFAULT);
  });
}

namespace {

bool is_open_number(const Descriptor& socket) { return ::fcntl(socket.number(), F_GETFD) != -1; }

}  // namespace

int HttpSockets::open(int family, int type, int protocol) {
  Descriptor made(::socket(family, type | SOCK_CLOEXEC, protocol));
  if (!made.is_open()) { return -1; }
  close(made.number());  // an older socket with this number was closed
  sockets_.push_back(std::move(made));
  return sockets_.back().number();
}

void HttpSockets::close(int number) {
  const auto found =
      std::find_if(sockets_.begin(), sockets_.end(), [&](const Descriptor& each) { return each.number() == number; });
  if (found != sockets_.end()) { sockets_.erase(found); }
}

bool HttpSockets::are_ours() const {
  return std::none_of(sockets_.begin(), sockets_.end(),
                      [](const Descriptor& each) { return is_open_number(each) && !each.is_ours(); });
}

void HttpSockets::forget_closed() {
  sockets_.erase(
      std::remove_if(sockets_.begin(), sockets_.end(), [](const Descriptor& each) { return !is_open_number(each); }),
      sockets_.end());
}

namespace {

struct FreeUrl {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
};

bool has_control(const std::string& text) {
  return std::any_of(text.begin(), text.end(), [](char each) { return static_cast<unsigned char>(each) < 32; });
}

bool is_loopback(const std::string& host) {
  const bool is_address = host.find_first_not_of("0123456789.") == std::string::npos;  // not "127.example.org"
  return host == "localhost" || host == "[::1]" || (is_address && host.compare(0, 4, "127.") == 0);
}

std::string part_of(CURLU* url, CURLUPart part, unsigned flags = 0) {
  char* text = nullptr;
  if (curl_url_get(url, part, &text, flags) != CURLUE_OK || text == nullptr) { return ""; }
  std::string copy(text);
  curl_free(text);
  return copy;
}

void must_be_readable(const std::string& path, const char* variable) {
  if (!path.empty() && ::access(path.c_str(), R_OK) != 0) {
    throw Error(std::string(variable) + "=" + path + " cannot be read; name a PEM file, or unset it");
  }
}

constexpr std::string_view kBlot = "***";

void blot_out(std::string& text, const std::string& secret) {
  if (secret.empty()) { return; }
  for (std::size_t at = text.find(secret); at != std::string::npos; at = text.find(secret, at + kBlot.size())) {
    text.replace(at, secret.size(), kBlot);
  }
}

std::string base64(const std::string& bytes) {
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char each : bytes) {
    bits = (bits << 8U) | static_cast<unsigned char>(each);
    for (count += 8; count >= 6; count -= 6) { text += kLetters[(bits >> (count - 6)) & 63U]; }
  }
  if (count > 0) { text += kLetters[(bits << (6 - count)) & 63U]; }
  return text;  // without the final padding
}

/// Removes user and password from the URL; the rest is safe to show. Returns whether they are safe to send.
bool read_url(HttpOptions& options) {
  const std::unique_ptr<CURLU, FreeUrl> url(curl_url());
  const CURLUcode code = curl_url_set(url.get(), CURLUPART_URL, options.url.c_str(), CURLU_NON_SUPPORT_SCHEME);
  const std::string scheme = part_of(url.get(), CURLUPART_SCHEME);
  if (code != CURLUE_OK || (scheme != "http" && scheme != "https")) {
    // Not shown: it may contain a password in an unexpected place.
    throw Error(std::string(options.names.url) + " is not an http:// or https:// URL. " + options.names.no_url);
  }
  const std::string user = part_of(url.get(), CURLUPART_USER, CURLU_URLDECODE);
  const std::string password = part_of(url.get(), CURLUPART_PASSWORD, CURLU_URLDECODE);
  if (!user.empty() && (options.username.empty() || options.password.empty())) {
    options.username = user;
    options.password = password;
  }
  for (const CURLUPart part :
       {CURLUPART_USER, CURLUPART_PASSWORD, CURLUPART_OPTIONS, CURLUPART_FRAGMENT, CURLUPART_QUERY}) {
    curl_url_set(url.get(), part, nullptr, 0);
  }
  options.url = part_of(url.get(), CURLUPART_URL);
  if (!options.url.empty() && options.url.back() == '/') { options.url.pop_back(); }
  return scheme == "https" || is_loopback(part_of(url.get(), CURLUPART_HOST)) || options.insecure_tls;
}

}  // namespace

bool check_http_options(HttpOptions& options) {
  must_be_readable(options.ca_path, options.names.ca_path);
  must_be_readable(options.client_cert_path, options.names.client_cert_path);
  if (has_control(options.token) || has_control(options.username) || has_control(options.password)) {
    throw Error(std::string(options.names.credentials) + " contains a line break or another control character");
  }
  return read_url(options);
}

std::string origin_of(const std::string& url) {
  const std::unique_ptr<CURLU, FreeUrl> parsed(curl_url());
  if (curl_url_set(parsed.get(), CURLUPART_URL, url.c_str(), CURLU_NON_SUPPORT_SCHEME) != CURLUE_OK) { return ""; }
  std::string host = part_of(parsed.get(), CURLUPART_HOST);
  for (char& each : host) { each = static_cast<char>(std::tolower(static_cast<unsigned char>(each))); }
  return part_of(parsed.get(), CURLUPART_SCHEME) + "://" + host + ":" +
         part_of(parsed.get(), CURLUPART_PORT, CURLU_DEFAULT_PORT);
}

bool is_on_this_machine(const std::string& url) {
  const std::unique_ptr<CURLU, FreeUrl> parsed(curl_url());
  return curl_url_set(parsed.get(), CURLUPART_URL, url.c_str(), 0) == CURLUE_OK &&
         is_loopback(part_of(parsed.get(), CURLUPART_HOST));
}

std::string without_secrets(std::string text, const HttpOptions& options) {
  blot_out(text, options.token);
  blot_out(text, options.password);
  // Also as sent: servers repeat a header in errors about it.
  if (!options.password.empty()) { blot_out(text, base64(options.username + ":" + options.password)); }
  return text;
}

std::string url_encoded(std::string_view text) {
  static const char kHex[] = "0123456789ABCDEF";
  std::string out;
  for (const char each : text) {
    const auto byte = static_cast<unsigned char>(each);
    const bool plain = (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z') || (each >= '0' && each <= '9') ||
                       each == '-' || each == '.' || each == '_' || each == '~';
    if (plain) {
      out += each;
    } else {
      out.append({'%', kHex[byte >> 4U], kHex[byte & 15U]});
    }
  }
  return out;
}

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

/// Reads TAKT_CONNECT_MS from the environment, if set.
void set_connect_time(milliseconds& connect) {
  const char* const given = std::getenv("TAKT_CONNECT_MS");
  const std::string_view text = given == nullptr ? "" : given;
  if (text.empty()) { return; }
  constexpr std::int64_t kMax = 600'000;
  std::int64_t ms = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), ms);
  if (error == std::errc() && end == text.data() + text.size() && ms >= 1 && ms <= kMax) {
    connect = milliseconds(ms);
  } else {
    report_error_once("environment.TAKT_CONNECT_MS", "TAKT_CONNECT_MS=" + std::string(text) +
                                                         " is not a number of milliseconds from 1 to 600000; using " +
                                                         std::to_string(connect.count()));
  }
}

void append(List& list, const std::string& line) {
  if (curl_slist* longer = curl_slist_append(list.get(), line.c_str())) {
    (void)list.release();
    list.reset(longer);
  }
}

/// Returns the list of handles that are never cleaned up, so that leak checkers find them.
std::vector<std::pair<CURL*, CURLM*>> make_handles() noexcept { return {}; }

}  // namespace

struct Http::Impl {
  explicit Impl(const HttpOptions& given) : options(given) {}
  ~Impl() {
    if (!sockets.are_ours() || waits_for_resolver()) { leave(); }
    if (busy) { curl_multi_remove_handle(multi.get(), easy.get()); }
  }

  void set_up();
  void authorize(CURL* handle);
  void secure(CURL* handle) const;
  bool open_file();
  void prepare();
  bool has_ended(CURLcode& code);
  bool waits_for_resolver() const;
  steady_clock::duration time_left();
  void end(CURLcode code, HttpReply& reply);
  static std::size_t write(char* bytes, std::size_t size, std::size_t count, void* self);
  static std::size_t read_header(char* bytes, std::size_t size, std::size_t count, void* self);
  static int seek(void* file, curl_off_t offset, int origin);
  static curl_socket_t open_socket(void* self, curlsocktype purpose, curl_sockaddr* address);
  static int close_socket(void* self, curl_socket_t socket);
  void leave() noexcept;
  void drop();
  void begin_anew();

  HttpOptions options;
  HttpSockets sockets;                 // outlive multi
  bool withheld = false;               // credentials are withheld, because the connection is not encrypted
  std::unique_ptr<CURLM, Free> multi;  // outlives easy
  std::unique_ptr<CURL, FreeEasy> easy;
  HttpRequest request;
  List headers;
  std::unique_ptr<std::FILE, Free> file;
  std::string body;  // of the reply
  HttpRate rate;
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
    report_error_once(std::string(options.names.cause) + ".plain",
                      "user, password, key and token are not sent to " + options.url +
                          ", which would send them unencrypted; use https, or allow it with " +
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

curl_socket_t Http::Impl::open_socket(void* self, curlsocktype /*purpose*/, curl_sockaddr* address) {
  const int made = static_cast<Impl*>(self)->sockets.open(address->family, address->socktype, address->protocol);
  return made < 0 ? CURL_SOCKET_BAD : made;
}

int Http::Impl::close_socket(void* self, curl_socket_t socket) {
  static_cast<Impl*>(self)->sockets.close(socket);
  return 0;
}

/// Leaks the handles. If the program closed a connection, cleanup would write to a number that may now be the program's
/// own file.
void Http::Impl::leave() noexcept {
  try {
    static std::mutex mutex;
    const std::lock_guard<std::mutex> lock(mutex);
    made_once<make_handles>().emplace_back(easy.release(), multi.release());
  } catch (const std::bad_alloc&) {
    (void)easy.release();
    (void)multi.release();
  }
  sockets.forget();
  busy = false;
}

void Http::Impl::drop() {
  report_closed_file("a connection to " + options.url);
  begin_anew();
}

void Http::Impl::begin_anew() {
  leave();
  multi.reset(curl_multi_init());
  easy.reset(curl_easy_init());
}

/// Returns whether ending the transfer would wait for the system's resolver, as libcurl does without
/// CURLOPT_QUICK_EXIT.
bool Http::Impl::waits_for_resolver() const {
  constexpr unsigned kQuickExit = 0x075700;
  if (!busy || (LIBCURL_VERSION_NUM >= kQuickExit && curl_version_info(CURLVERSION_NOW)->version_num >= kQuickExit)) {
    return false;
  }
  curl_off_t looked_up_us = 0;
  curl_easy_getinfo(easy.get(), CURLINFO_NAMELOOKUP_TIME_T, &looked_up_us);
  return looked_up_us == 0;
}

void Http::Impl::set_up() {
  set_up_http_library();
  withheld = !check_http_options(options);
  if (options.insecure_tls && options.ca_path.empty()) {
    report_error_once(
        std::string(options.names.cause) + ".insecure",
        std::string(options.names.insecure_tls) + ": the identity of " + options.url + " is not verified");
  }
  set_connect_time(options.connect);
  multi.reset(curl_multi_init());
  easy.reset(curl_easy_init());
  if (multi == nullptr || easy == nullptr) { throw Error("libcurl could not be set up: out of memory"); }
}

std::size_t Http::Impl::write(char* bytes, std::size_t size, std::size_t count, void* self) {
  auto& impl = *static_cast<Impl*>(self);
  if (impl.body.size() + size * count > impl.request.max_reply) {
    impl.too_long = true;
    return 0;  // ends the transfer
  }
  impl.body.append(bytes, size * count);
  return size * count;
}

std::size_t Http::Impl::read_header(char* bytes, std::size_t size, std::size_t count, void* self) {
  static_cast<Impl*>(self)->rate.read({bytes, size * count});
  return size * count;
}

int Http::Impl::seek(void* file, curl_off_t offset, int origin) {
  return ::fseeko(static_cast<std::FILE*>(file), static_cast<off_t>(offset), origin) == 0 ? CURL_SEEKFUNC_OK
                                                                                          : CURL_SEEKFUNC_FAIL;
}

bool Http::Impl::open_file() {
  struct stat status = {};
  // Each try copies the descriptor again, and never uses a reused number.
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
  // Without a length curl sends chunks, and some servers store nothing then.
  curl_easy_setopt(handle, CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(status.st_size));
  return true;
}

void Http::Impl::secure(CURL* handle) const {
  const bool trust_all = options.insecure_tls && options.ca_path.empty();
  curl_easy_setopt(handle, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  curl_easy_setopt(handle, CURLOPT_SSL_VERIFYPEER, trust_all ? 0L : 1L);
  curl_easy_setopt(handle, CURLOPT_SSL_VERIFYHOST, trust_all ? 0L : 2L);
  if (!options.ca_path.empty()) {
    curl_easy_setopt(handle, CURLOPT_CAINFO, options.ca_path.c_str());
    curl_easy_setopt(handle, CURLOPT_CAPATH, nullptr);  // would add the system's CA certificates
  }
  if (!options.client_cert_path.empty()) {
    curl_easy_setopt(handle, CURLOPT_SSLCERT, options.client_cert_path.c_str());
    curl_easy_setopt(handle, CURLOPT_SSLKEY, options.client_cert_path.c_str());
  }
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
  curl_easy_setopt(handle, CURLOPT_QUICK_EXIT, 1L);  // do not wait for a name lookup
#endif
  // A proxy would resolve localhost on its own machine.
  if (is_on_this_machine(options.url)) { curl_easy_setopt(handle, CURLOPT_NOPROXY, "*"); }
  curl_easy_setopt(handle, CURLOPT_FOLLOWLOCATION, 0L);
  secure(handle);
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

/// Fills in the reply when the transfer has ended.
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
    reply.error = "the reply is longer than " + std::to_string(request.max_reply) + " bytes";
  } else {
    reply.error = error[0] != '\0' ? error : curl_easy_strerror(code);
    if (code == CURLE_PEER_FAILED_VERIFICATION) {
      reply.error += std::string(". If it is your server, set ") + options.names.ca_path +
                     " to its CA certificate (PEM), and check that the host in " + options.names.url +
                     " is one that its certificate names";
    }
  }
  reply.body = std::move(body);
  reply.location = location == nullptr ? "" : location;
  reply.retry_after_s = std::max<std::int64_t>(0, after);
  reply.rate = rate;
}

Http::Http(const HttpOptions& options) : impl_(std::make_unique<Impl>(options)) { impl_->set_up(); }
Http::~Http() = default;
bool Http::busy() const noexcept { return impl_->busy; }
const std::string& Http::url() const noexcept { return impl_->options.url; }

std::string Http::without_secrets(std::string text) const {
  return detail::without_secrets(std::move(text), impl_->options);
}

std::string Http::reported(const HttpReply& reply, std::string said) const {
  if (reply.status == 0) { return without_secrets(reply.error); }
  if (said.empty()) { said = reply.body; }
  said = without_secrets(std::move(said));  // before truncation can split a secret
  constexpr std::size_t kMax = 300;
  if (said.size() > kMax) { said = said.substr(0, kMax) + "..."; }
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
  impl.rate = {};
  impl.error[0] = '\0';
  impl.waited = {};
  if (!impl.sockets.are_ours()) { impl.drop(); }
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
  CURLcode code = CURLE_FAILED_INIT;
  while (impl.busy) {
    const Time before = steady_clock::now();
    if (!impl.sockets.are_ours()) {
      const bool connected = impl.connected;
      impl.drop();
      reply = HttpReply();
      reply.may_have_arrived = connected;
      reply.error = "the program closed the connection";
      return true;
    }
    if (impl.has_ended(code)) { break; }
    const steady_clock::duration left = impl.time_left();
    if (left.count() <= 0) {
      code = CURLE_OPERATION_TIMEDOUT;
      break;
    }
    const Time now = steady_clock::now();
    if (now >= until) { return false; }
    const auto slice = std::min<steady_clock::duration>({until - now, left, milliseconds(1000)});
    curl_multi_poll(impl.multi.get(), nullptr, 0, static_cast<int>(std::chrono::ceil<milliseconds>(slice).count()),
                    nullptr);
    impl.waited += steady_clock::now() - before;
  }
  impl.end(code, reply);
  if (impl.waits_for_resolver()) { impl.begin_anew(); }
  if (impl.busy) { curl_multi_remove_handle(impl.multi.get(), impl.easy.get()); }
  impl.busy = false;
  impl.sockets.forget_closed();
  return true;
}

/// Continues the transfer without blocking. Returns whether it has ended, with `code`.
bool Http::Impl::has_ended(CURLcode& code) {
  int running = 0;
  curl_multi_perform(multi.get(), &running);
  int left = 0;
  bool ended = false;
  while (const CURLMsg* message = curl_multi_info_read(multi.get(), &left)) {
    if (message->msg == CURLMSG_DONE) {
      code = message->data.result;
      ended = true;
    }
  }
  return ended;
}

/// Returns the time left for the server. If none is left, `error` says which timeout expired.
steady_clock::duration Http::Impl::time_left() {
  if (!connected) {
    curl_off_t connected_us = 0;
    curl_easy_getinfo(easy.get(), CURLINFO_PRETRANSFER_TIME_T, &connected_us);
    connected = connected_us > 0;
  }
  const auto total = std::max(options.total, request.total);
  const auto max = connected ? total : std::min(options.connect, total);
  if (waited >= max) {
    std::snprintf(error, sizeof error, "no %s within %lld ms", connected ? "reply" : "connection",
                  static_cast<long long>(max.count()));
  }
  return max - waited;
}

}  // namespace detail
TAKT_END_NAMESPACE
