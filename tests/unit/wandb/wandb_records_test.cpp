// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "base/format.hpp"
#include "trackers/tracker_names.hpp"
#include "wandb/wandb_rows.hpp"

#include "wandb/wandb_log.hpp"

#include "support/catch.hpp"
#include "support/wandb_reader.hpp"

#include <cstdint>
#include <limits>
#include <string>

using namespace takt::detail;
using takt_test::WandbMessage;

namespace {

// A log that W&B's own reader accepts, written by hand from the field numbers.
const char* const kGolden =
    "3a572642e1be00aef8de561900010801aa01140a120a086f7572732d312e301206302e37302e307870da9223000108028a011e0a0861626364"
    "313233"
    "341a017022008a010c0880e2cfaa061080cab5ee01b5cff9024d0001080312490a090a0161820103312e350a1b0a0a5f74696d657374616d70"
    "82010c"
    "313730303030303030312e300a100a085f72756e74696d65820103312e300a0b0a055f7374657082010130120017d5fb0f1c000108041a180a"
    "090a01"
    "61820103312e350a0b0a055f73746570820101302a94bc9a0500010805920100";

std::string hex(const std::string& bytes) {
  std::string text;
  for (const char each : bytes) { text += takt::detail::format("{:02x}", static_cast<unsigned char>(each)); }
  return text;
}

}  // namespace

TEST_CASE("W&B records: encodes a small run byte for byte") {
  WandbIdentity identity;
  identity.id = "abcd1234";
  identity.project = "p";
  identity.start_unix_ns = 1'700'000'000'500'000'000;
  const WandbItems row = {{"a", wandb_json(1.5)},
                          {"_timestamp", wandb_json(1'700'000'001.0)},
                          {"_runtime", wandb_json(1.0)},
                          {"_step", "0"}};
  WandbRecords records;
  std::string log(wandb_log_header());
  for (const std::string& record : {records.header("ours-1.0"), records.run(identity, {}), records.history(row, 0),
                                    records.summary({{"a", "1.5"}, {"_step", "0"}}), records.exit(0, 0)}) {
    append_wandb_record(log, log.size(), record);
  }
  CHECK(hex(log) == kGolden);
}

TEST_CASE("W&B records: every part of a run's identity is in its field") {
  WandbIdentity identity;
  identity.id = "id";
  identity.entity = "entity";
  identity.project = "project";
  identity.group = "group";
  identity.job_type = "job";
  identity.name = "caf\xC3\xA9";
  identity.notes = "notes";
  identity.tags = {"one", "two"};
  identity.sweep_id = "sweep";
  identity.host = "host";
  const WandbMessage run = WandbMessage(WandbRecords().run(identity, {{"lr", "0.25"}})).message(17);
  const std::map<std::uint64_t, std::string> expected = {
      {1, "id"},          {2, "entity"}, {3, "project"}, {6, "group"},  {7, "job"},
      {8, "caf\xC3\xA9"}, {9, "notes"},  {10, "two"},    {12, "sweep"}, {13, "host"}};
  for (const auto& [field, text] : expected) {
    INFO(field);
    CHECK(run.text(field) == text);
  }
  CHECK(run.texts.at(10).size() == 2);
  CHECK(run.message(4).items().at("lr") == "0.25");
  CHECK(run.numbers.count(24) == 0);
  identity.resume = true;
  CHECK(WandbMessage(WandbRecords().run(identity, {})).message(17).numbers.at(24) == 1);
}

TEST_CASE("W&B records: axes, files and the exit have their fields") {
  WandbRecords records;
  CHECK(WandbMessage(records.axis("step")).message(12).text(1) == "step");
  const WandbMessage drawn = WandbMessage(records.drawn_over("*", "step")).message(12);
  CHECK(drawn.text(2) == "*");
  CHECK(drawn.text(4) == "step");
  CHECK(drawn.message(6).numbers.at(1) == 1);
  CHECK(WandbMessage(records.file("takt/table.txt")).message(6).message(1).text(1) == "takt/table.txt");
  const WandbMessage exit(records.exit(1, 300));
  CHECK(exit.numbers.at(1) == 4);  // the fourth record
  CHECK(exit.message(18).numbers.at(1) == 1);
  CHECK(exit.message(18).numbers.at(2) == 300);
}

TEST_CASE("W&B values: numbers are restored bit by bit, and W&B's words represent the others") {
  CHECK(wandb_json(0.1) == "0.1");
  CHECK(wandb_json(-0.0) == "-0.0");
  CHECK(std::stod(wandb_json(1.0 / 3.0)) == 1.0 / 3.0);
  CHECK(wandb_json(std::numeric_limits<double>::quiet_NaN()) == "NaN");
  CHECK(wandb_json(std::numeric_limits<double>::infinity()) == "Infinity");
  CHECK(wandb_json(-std::numeric_limits<double>::infinity()) == "-Infinity");
}

TEST_CASE("W&B values: texts are quoted, and repaired if they are not UTF-8") {
  CHECK(wandb_json("caf\xC3\xA9 \"x\"\n") == "\"caf\xC3\xA9 \\\"x\\\"\\n\"");
  CHECK(wandb_json("\xFF") == "\"\xEF\xBF\xBD\"");
  CHECK(valid_utf8("a\xFF\"") == "a\xEF\xBF\xBD\"");
}

TEST_CASE("Protobuf numbers: encodes minimum, maximum and negative ones") {
  for (const std::int64_t value :
       {std::int64_t{1}, std::int64_t{127}, std::int64_t{128}, std::int64_t{-1},
        std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()}) {
    const std::string bytes = Protobuf().number(20, value).bytes();
    INFO(value);
    CHECK(WandbMessage(bytes).numbers.at(20) == value);
  }
  CHECK(Protobuf().number(1, 0).text(2, "").bytes().empty());
}
