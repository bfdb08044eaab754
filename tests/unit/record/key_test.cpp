// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/key.hpp>

#include "record/names.hpp"

#include <takt/takt.hpp>

#include "support/catch.hpp"
#include "support/caught_errors.hpp"
#include "support/mentions.hpp"
#include "support/same_key.hpp"
#include "support/session_helpers.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

using support::CaughtErrors;
using takt::Key;
using takt::Kind;
using takt::detail::KeyTable;
using takt_test::mentions;

namespace {

// The same names as in another translation unit: see support/same_key.cpp.
inline constexpr Key Optimizer{"the optimizer of two files", Kind::compute};

std::uint64_t loss(const std::string& what) { return takt_test::losses_of(takt::snapshot(), what); }

}  // namespace

TEST_CASE("Key: its name identifies it at compile time") {
  constexpr Key a{"name", Kind::io};
  constexpr Key b{"name", Kind::comm};
  static_assert(a == b);
  static_assert(a != takt::Forward);
  static_assert(Key{"Batch"} == takt::Batch);
  static_assert(a.hash() == 0xc4bcadba8e631b86U, "64-bit FNV-1a of \"name\"");
  static_assert(a.kind() == Kind::io);
  REQUIRE(a.index() == takt::detail::kNoKey);
  REQUIRE(std::string(takt::to_string(Kind::wait)) == "wait");
}

TEST_CASE("Key: a copy looks up its number again") {
  static constexpr Key original{"a key to be copied"};
  { const takt::Scope s(original); }
  REQUIRE(original.index() != takt::detail::kNoKey);
  const Key copy(original);
  REQUIRE(copy.index() == takt::detail::kNoKey);
  { const takt::Scope s(copy); }
  REQUIRE(copy.index() == original.index());
  REQUIRE(takt_test::calls_of(takt::snapshot(), "a key to be copied") == 2);
}

TEST_CASE("Key: two keys of one name in two files are the same") {
  { const takt::Scope s(Optimizer); }
  takt_test::time_in_another_file();
  REQUIRE(takt_test::calls_of(takt::snapshot(), Optimizer.name()) == 2);
}

TEST_CASE("Key: a second kind for one name is reported and counted once, and the first is kept") {
  const CaughtErrors errors;
  static constexpr Key first{"of two kinds", Kind::io};
  static constexpr Key second{"of two kinds", Kind::comm};
  { const takt::Scope s(first); }
  for (int round = 0; round < 5; ++round) {
    const takt::Scope s(second);
    const takt::Scope t(takt::key("of two kinds", Kind::wait));
  }
  const takt::Snapshot snapshot = takt::snapshot();
  REQUIRE(snapshot.paths[takt_test::find_path(snapshot, "of two kinds")].kind == Kind::io);
  REQUIRE(takt_test::losses_of(snapshot, "key_kind_conflict") == 1);
  REQUIRE(errors.lines().size() == 1);
  REQUIRE(mentions(errors.text(), {"\"of two kinds\"", "comm", "io"}));
}

TEST_CASE("Key: a user's key with a predefined name is the predefined key") {
  const CaughtErrors errors;
  static constexpr Key mine{"Batch", Kind::compute};
  const std::uint64_t conflicts = loss("key_kind_conflict");
  for (int round = 0; round < 3; ++round) { const takt::Scope s(mine); }
  const takt::Snapshot snapshot = takt::snapshot();
  REQUIRE(takt_test::calls_of(snapshot, "Batch") == 3);
  REQUIRE(snapshot.series.size() == 1);
  REQUIRE(snapshot.series[0].steps == 3);
  REQUIRE(takt_test::losses_of(snapshot, "key_kind_conflict") == conflicts + 1);
}

TEST_CASE("Key: distinguishes and finds names made at run time") {
  std::set<const Key*> keys;
  for (int round = 0; round < 2; ++round) {
    for (int number = 0; number < 100; ++number) {
      const std::string name = "layer " + std::to_string(number);
      const Key& key = takt::key(name.c_str(), Kind::compute);
      REQUIRE(key.name() == name);
      REQUIRE(key.name() != name.c_str());  // a copy that stays
      keys.insert(&key);
    }
  }
  REQUIRE(keys.size() == 100);
}

TEST_CASE("Key: key() takes any text") {
  const std::string text = "any text";
  const Key& key = takt::key("any text");
  REQUIRE(&takt::key(text) == &key);
  REQUIRE(&takt::key(std::string_view("any text, cut").substr(0, 8)) == &key);
  REQUIRE(std::string(takt::key(static_cast<const char*>(nullptr)).name()) == "(unnamed)");
}

TEST_CASE("Key: odd names are repaired and reported but stay distinct") {
  const CaughtErrors errors;
  REQUIRE(std::string(takt::key("with\na\tline\x7f").name()) == "with?a?line?");
  REQUIRE(std::string(takt::key("").name()) == "(unnamed)");
  REQUIRE(std::string(takt::key(nullptr).name()) == "(unnamed)");
  REQUIRE(std::string(takt::key("Vorwärtslauf ⏩").name()) == "Vorwärtslauf ⏩");
  REQUIRE(takt::key("with\na\tline\x7f") == takt::key("with\na\tline\x7f"));
  REQUIRE(takt::key("with\na\tline\x7f") != takt::key("with?a?line?"));
  REQUIRE(errors.lines().size() == 1);
  REQUIRE(errors.text().find("has control characters") != std::string::npos);

  const std::string ascii(10'000, 'x');
  const std::string cut = std::string(191, 'x') + "_76bb4805";  // FNV-1a of the whole name
  REQUIRE(std::string(takt::key(ascii.c_str()).name()) == cut);
  std::string wide;
  for (int count = 0; count < 100; ++count) { wide += "€"; }  // three bytes each: 63 fit
  REQUIRE(std::string(takt::key(wide.c_str()).name()) == wide.substr(0, 189) + "_96a4cf85");
  const std::string longest(200, 'y');
  REQUIRE(takt::key(longest.c_str()).name() == longest);
  REQUIRE(takt::key(ascii.c_str()) == takt::key(ascii.c_str()));
  REQUIRE(takt::key(ascii.c_str()) != takt::key((ascii + "x").c_str()));
  { const takt::Scope s(takt::key(ascii.c_str())); }
  REQUIRE(takt_test::calls_of(takt::snapshot(), cut) == 1);
  REQUIRE(std::string(takt::key((ascii + "x").c_str()).name()) != cut);
}

TEST_CASE("KeyTable: holds 4 000 keys, and later ones share one, are counted and reported") {
  const CaughtErrors errors;
  static auto* const table = new KeyTable;  // never destroyed, as in a process
  std::set<takt::detail::KeyIndex> indices;
  std::uint64_t refused = 0;
  for (int number = 0; number < 5000; ++number) {
    const Key& key = table->intern(("many " + std::to_string(number)).c_str(), Kind::io);
    if (key.predefined_index() == takt::detail::kOverflowKey) {
      ++refused;
    } else {
      REQUIRE(key.name() == "many " + std::to_string(number));
      indices.insert(key.predefined_index());
    }
  }
  REQUIRE(indices.size() == takt::detail::kMaxKeys - takt::detail::kFirstUserKey);
  REQUIRE(refused == 5000 - indices.size());
  REQUIRE(table->refused() == refused);
  REQUIRE(errors.lines().size() == 1);
  REQUIRE(mentions(errors.text(), {"4 000", "\"many 3991\""}));
  // Existing keys are unchanged.
  REQUIRE(std::string(table->intern("many 17", Kind::io).name()) == "many 17");
  REQUIRE(table->resolve(takt::Forward) == takt::Forward.index());
  REQUIRE(std::string(table->name(takt::detail::kOverflowKey)) == "(overflow)");
  // A refused key does not try again.
  const Key late{"many and late"};
  REQUIRE(table->resolve(late) == takt::detail::kOverflowKey);
  REQUIRE(table->resolve(late) == takt::detail::kOverflowKey);
  REQUIRE(table->refused() == refused + 1);
}

TEST_CASE("KeyTable: an error handler may use new keys") {
  static auto* const table = new KeyTable;  // never destroyed, as in a process
  takt::detail::forget_errors();
  takt::set_error_handler(
      [](const char*, void* its) { static_cast<KeyTable*>(its)->intern("the handler's", Kind::other); }, table);
  for (int number = 0; number < 4100; ++number) {
    table->intern(("filling " + std::to_string(number)).c_str(), Kind::io);
  }
  takt::set_error_handler(nullptr);
  REQUIRE(table->refused() > 100);
}

TEST_CASE("KeyTable: concurrent threads agree on the number of a name") {
  static auto* const table = new KeyTable;  // never destroyed, as in a process
  constexpr int kThreads = 4;
  std::vector<std::vector<takt::detail::KeyIndex>> seen(kThreads);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (int number = 0; number < 500; ++number) {
        const std::string name = "met " + std::to_string(number);
        seen[static_cast<std::size_t>(thread)].push_back(table->intern(name.c_str(), Kind::io).predefined_index());
      }
    });
  }
  for (std::thread& thread : threads) { thread.join(); }
  for (int thread = 1; thread < kThreads; ++thread) { REQUIRE(seen[static_cast<std::size_t>(thread)] == seen[0]); }
  REQUIRE(std::set<takt::detail::KeyIndex>(seen[0].begin(), seen[0].end()).size() == 500);
}
