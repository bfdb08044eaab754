// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Uses any bytes as a merged file. The input is a list of records: a byte that selects the use of the data up to the
// next newline. Uses are: an entry with a name, a header with bytes changed, an extended header with this data, raw
// bytes, the file cut off. Builds with libFuzzer or with standalone_main.cpp.
#include "cli/journal_peek.hpp"
#include "cli/merged_file.hpp"
#include "cli/tar.hpp"
#include "journal/journal_reader.hpp"

#include <takt/error.hpp>

#include "support/scratch.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include <fcntl.h>

using namespace takt::detail;

namespace {

void require(bool holds, const char* what) {
  if (holds) { return; }
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

std::string padded_to_blocks(std::string_view text) {
  std::string padded(text);
  padded.resize(tar_blocks(text.size()));
  return padded;
}

/// Writes the correct checksum.
void seal(std::string& header) {
  header.replace(148, 8, 8, ' ');
  std::uint32_t sum = 0;
  for (const char each : header) { sum += static_cast<unsigned char>(each); }
  char text[8];
  std::snprintf(text, sizeof text, "%06o", sum & 0777777U);
  header.replace(148, 7, std::string(text, 7));
}

/// Returns a valid or invalid file name.
std::string odd_name(unsigned char what, std::string_view rest) {
  static constexpr const char* kNames[] = {"", ".", "..", "/", "../..", "journal-00000.tjl", "journal-00001.tjl"};
  return what % 8 == 7 ? std::string(rest) : kNames[what % 8];
}

/// Returns the bytes that one record adds to the file.
std::string made_of(unsigned char what, std::string_view rest) {
  const std::size_t number = rest.empty() ? 0 : static_cast<unsigned char>(rest.front());
  if (what < 60) {  // a name that may be valid
    const std::string name = "run/rank-" + std::to_string(what % 3) + "/" + odd_name(what, rest.substr(0, number));
    return tar_header({name, TarEntry::kFile, rest.size(), static_cast<std::int64_t>(number)}) + padded_to_blocks(rest);
  }
  if (what < 120) {
    const char type = what < 80 ? TarEntry::kDirectory : TarEntry::kFile;
    return tar_header({std::string(rest), type, number, static_cast<std::int64_t>(number) << 50U});
  }
  std::string header = tar_header({"run/rank-0/journal-00000.tjl", TarEntry::kFile, rest.size(), 0});
  if (what < 170) {  // changes a field of the header, with or without a correct checksum
    const std::size_t at = std::size_t{what} * 97 % (kTarBlock - 1);
    const std::string_view part = rest.substr(0, kTarBlock - at);
    header.replace(at, part.size(), part);
    if (what % 4 != 0) { seal(header); }
    return header + padded_to_blocks(rest);
  }
  if (what < 210) {
    header.replace(156, 1, what < 200 ? "x" : "g");
    seal(header);
    return header + padded_to_blocks(rest);
  }
  return what < 240 ? std::string(rest) : std::string(number * 8, '\0');
}

void check(const MergedFile& file, std::uint64_t bytes) {
  for (const auto& [run, ranks] : file.runs()) {
    for (const auto& [rank, files] : ranks) {
      require(run.find('/') == std::string::npos && rank.rfind("rank-", 0) == 0, "names are those of entries");
      for (const auto& [name, each] : files) {
        require(name.find('/') == std::string::npos && name != "..", "names are those of entries");
        require(each.begin <= bytes && each.bytes <= bytes - each.begin, "files are inside");
      }
    }
  }
  for (const std::string& line : file.warnings()) {
    require(line.find_first_of("\n\x1b") == std::string::npos, "remarks are printable");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const takt_test::Scratch scratch;
  std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::string mark = kMergedMarkText;
  std::string bytes = tar_header({kMergedMark, TarEntry::kFile, mark.size(), 0}) + padded_to_blocks(mark);
  while (!input.empty()) {
    const std::string_view record = input.substr(0, input.find('\n'));
    input.remove_prefix(record.size() < input.size() ? record.size() + 1 : input.size());
    if (record.empty()) { continue; }
    const auto what = static_cast<unsigned char>(record.front());
    if (what < 250) {
      bytes += made_of(what, record.substr(1));
    } else {
      bytes.resize(std::max(bytes.size() - std::min(bytes.size(), record.size() * 8), 2 * kTarBlock));
    }
  }
  takt_test::write_text(scratch.path("all.tar"), bytes);
  Descriptor opened(::open(scratch.path("all.tar").c_str(), O_RDONLY | O_CLOEXEC));
  require(MergedFile::is_one(opened), "it begins as a merged file");
  const auto file = std::make_shared<MergedFile>(std::move(opened), "all.tar");
  check(*file, bytes.size());
  for (const auto& [run, ranks] : file->runs()) {
    for (const auto& [rank, files] : ranks) {
      const auto directory = merged_directory(file, run, rank);
      peek_journal(*directory);
      JournalReader reader(directory);
      takt::Snapshot snapshot;
      reader.finish(snapshot);
    }
  }
  return 0;
}
