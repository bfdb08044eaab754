// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "report/notes.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "report/console.hpp"
#include "report/job_report.hpp"
#include "report/sample_notes.hpp"

#include <takt/measurement.hpp>
#include <takt/snapshot.hpp>
#include <takt/trial_results.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>

TAKT_BEGIN_NAMESPACE
namespace detail {

std::string item_unit(const Snapshot& snapshot) {
  const auto unit = snapshot.params.find("item_unit");
  return unit == snapshot.params.end() ? "samples" : printable(unit->second);
}

namespace {

/// Returns why there is no interval, for people.
std::string why_no_interval(const Throughput& throughput) {
  switch (throughput.no_interval) {
    case NoInterval::few_stalls:
      return detail::format("about {} the scatter, 10 are needed",
                            throughput.stalls == 1 ? "1 stall makes" : human_count(throughput.stalls) + " stalls make");
    case NoInterval::correlated:
      return detail::format("its {} windows are autocorrelated", throughput.windows);
    default:
      if (throughput.steps >= 128) { return "not every thread has 128 step periods"; }
      return detail::format("{} step periods, 128 are needed", human_count(throughput.steps));
  }
}

const char* why_no_throughput(const Snapshot& snapshot, const Series& series) {
  if (series.path < snapshot.paths.size() && snapshot.paths[series.path].skipped != 0) {
    return "not all steps were timed";
  }
  return series.throughput.excluded_steps == 0 ? "no step period after warm-up" : "all step periods are left out";
}

std::string items_rate(const Throughput& throughput, const std::string& unit) {
  const std::string rate = detail::format("{} {}/s, ", human_rate(throughput.items_per_s), unit);
  if (throughput.no_interval != NoInterval::none) { return rate + "no interval: " + why_no_interval(throughput); }
  return detail::format("{}95 % CI [{}, {}], n = {} windows", rate, human_rate(throughput.items_low),
                        human_rate(throughput.items_high), human_count(throughput.windows));
}

/// Returns the region's mean time per step.
double ns_a_step(const PathStats& path, const Series& series) {
  return static_cast<double>(path.host.total_ns()) / static_cast<double>(series.steps);
}

/// Returns the region with the most time between two Batches. It must run about once per step and fit into that time;
/// others ran elsewhere or rarely. Empty if several threads record, because the regions' thread is unknown.
std::string max_between(const Snapshot& snapshot, const Series& series, double between) {
  if (snapshot.threads.size() > 1) { return ""; }
  const std::uint32_t parent = snapshot.paths[series.path].parent;
  bool is_empty = true;
  std::uint32_t max = kNoIndex;
  for (std::uint32_t path = 0; path < snapshot.paths.size(); ++path) {
    const PathStats& each = snapshot.paths[path];
    if (path == series.path || each.host.n() + each.skipped == 0) { continue; }
    // A Batch that starts inside one and outlives it counts as between two.
    is_empty = is_empty && (each.parent != series.path || each.name != Batch.name());
    if (each.parent != parent) { continue; }
    is_empty = false;
    const bool every_step = each.skipped == 0 && each.host.n() >= series.steps / 2 + series.steps % 2;
    const double took = ns_a_step(each, series);
    if (!every_step || took > between) { continue; }
    if (max == kNoIndex || took > ns_a_step(snapshot.paths[max], series)) { max = path; }
  }
  if (is_empty) { return "; no region covers it"; }
  if (max == kNoIndex) { return ""; }
  return detail::format("; {} takes {} of it", path_label(snapshot, max),
                        human_time(ns_a_step(snapshot.paths[max], series)));
}

/// Adds the time between Batches if it is at least a tenth of the period.
void between_line(const Snapshot& snapshot, const Series& series, std::vector<std::string>& lines) {
  const auto same = [&series](const Series& each) { return each.path == series.path; };
  // With several threads, the Batches of one are unknown.
  const bool alone = std::count_if(snapshot.series.begin(), snapshot.series.end(), same) == 1;
  if (!alone || series.path >= snapshot.paths.size()) { return; }
  const Throughput& throughput = series.throughput;
  const double batch = snapshot.paths[series.path].host.mean_ns();
  const double period = static_cast<double>(throughput.period_ns) / static_cast<double>(throughput.steps);
  const double between = period - batch;
  if (batch <= 0 || between < kWorthALine * period) { return; }
  lines.push_back(detail::format("  between two Batches: {} of each period of {} ({}){}", human_time(between),
                                 human_time(period), percent(between, period), max_between(snapshot, series, between)));
}

std::string rates(const Snapshot& snapshot, const Throughput& throughput) {
  const std::string items = throughput.items == 0 ? "" : items_rate(throughput, item_unit(snapshot)) + "; ";
  return detail::format("{}{} steps/s", items, human_rate(throughput.steps_per_s));
}

void left_out_line(const Throughput& throughput, std::vector<std::string>& lines) {
  if (throughput.excluded_steps == 0) { return; }
  lines.push_back(
      detail::format("  left out: {} period{}, {} (Epoch boundaries, other Batches or steps not timed inside)",
                     human_count(throughput.excluded_steps), plural(throughput.excluded_steps),
                     human_time(static_cast<double>(throughput.excluded_ns))));
}

/// Adds the line of the only thread with Batches at this path.
void series_lines(const Snapshot& snapshot, const Series& series, std::vector<std::string>& lines) {
  const Throughput& throughput = series.throughput;
  const std::string where = path_label(snapshot, series.path) + " on " + thread_label(snapshot, series.thread);
  if (throughput.steps == 0) {
    lines.push_back(detail::format("{}: no throughput, {}", where, why_no_throughput(snapshot, series)));
  } else {
    lines.push_back(detail::format("{}: {}", where, rates(snapshot, throughput)));
    between_line(snapshot, series, lines);
  }
  left_out_line(throughput, lines);
}

void job_lines(const Snapshot& snapshot, std::vector<std::string>& lines) {
  const std::vector<JobThroughput> jobs = job_throughputs(snapshot);
  for (const JobThroughput& job : jobs) {
    lines.push_back(detail::format("{} of all ranks: {}, by the slowest ({})", path_label(snapshot, job.path),
                                   rates(snapshot, job.throughput), thread_label(job.slowest)));
  }
  if (jobs.empty() && !snapshot.series.empty()) {
    lines.emplace_back("no throughput: no rank has a usable step period");
  }
}

}  // namespace

void add_throughputs(const Snapshot& snapshot, std::vector<std::string>& lines) {
  if (is_job(snapshot)) { return job_lines(snapshot, lines); }
  std::map<std::uint32_t, std::vector<const Series*>> of_path;
  for (const Series& each : snapshot.series) { of_path[each.path].push_back(&each); }
  const std::vector<JobThroughput> together = job_throughputs(snapshot);
  for (const Series& each : snapshot.series) {
    const std::vector<const Series*>& threads = of_path[each.path];
    if (threads.front() != &each) { continue; }
    const auto job =
        std::find_if(together.begin(), together.end(), [&](const JobThroughput& one) { return one.path == each.path; });
    if (threads.size() == 1 || job == together.end()) {
      series_lines(snapshot, each, lines);
      continue;
    }
    lines.push_back(detail::format("{} on {} threads: {}", path_label(snapshot, each.path), human_count(threads.size()),
                                   rates(snapshot, job->throughput)));
    left_out_line(job->throughput, lines);
  }
}

namespace {

using Lines = std::vector<std::string>;

int ranks_in(const Snapshot& snapshot) { return is_job(snapshot) ? snapshot.run.world_size : 1; }
const char* of_ranks(const Snapshot& snapshot) { return is_job(snapshot) ? " of all ranks" : ""; }

/// Adds amounts over the region's total time. A sampled region has times of some calls only, so it has no rate.
void amount_lines(const Snapshot& snapshot, std::uint32_t index, Lines& lines) {
  const PathStats& path = snapshot.paths[index];
  const double seconds = static_cast<double>(path.host.total_ns()) / 1e9;
  const bool rated = path.skipped == 0 && seconds > 0;
  const std::string inside = rated ? " in " + human_ns(path.host.total_ns()) + (is_job(snapshot) ? " of all ranks" : "")
                                   : ", no rate: not all calls were timed";
  const char* const each = is_job(snapshot) ? "/s a rank, " : "/s, ";
  const auto say = [&](const std::string& rate, const std::string& amount) {
    lines.push_back(
        detail::format("{}: {}{}{}", path_label(snapshot, index), rated ? rate + each : "", amount, inside));
  };
  if (path.bytes != 0) {
    const auto bytes = static_cast<double>(path.bytes);
    say(rated ? human_bytes(bytes / seconds) : "", human_bytes(bytes));
  }
  // The items of a Batch are in its throughput, which excludes time outside steps.
  if (path.items != 0 && path.name != Batch.name()) {
    const auto items = static_cast<double>(path.items);
    say(rated ? human_rate(items / seconds) + " items" : "", human_count(path.items) + " items");
  }
}

/// "cuda 0 1.20 ms, cuda 1 30.0 ms"; empty unless several devices have a time line.
std::string exposed_by_device(const Snapshot& snapshot, std::optional<std::int64_t> Exposed::*member) {
  std::string text;
  for (const TimeLineInfo& line : snapshot.time_lines) {
    const std::optional<std::int64_t> ns = Exposed::on(line.overlap).*member;
    if (snapshot.time_lines.size() < 2 || !ns) { continue; }
    text += detail::format("{}{} {} {}", text.empty() ? "" : ", ", printable(line.device), line.number,
                           human_time(static_cast<double>(*ns)));
  }
  return text;
}

/// Adds upper bounds of stream waits, from regions around the waits. A span includes everything between its two events,
/// even the time until the host submits the work.
void exposed_lines(const Snapshot& snapshot, Lines& lines) {
  const Exposed exposed = Exposed::of(snapshot);
  const auto say = [&](const char* what, Exposed::For which, std::optional<std::int64_t> Exposed::*member) {
    const std::optional<std::int64_t> ns = exposed.*member;
    if (!ns) { return; }
    std::uint64_t waits = 0;
    for (std::uint32_t path = 0; path < snapshot.paths.size(); ++path) {
      if (Exposed::what(snapshot, path) == which) { waits += snapshot.paths[path].device.n(); }
    }
    lines.push_back(detail::format("exposed {}: \u2264 {}, {} wait{} of streams", what,
                                   human_time(static_cast<double>(*ns)), human_count(waits), plural(waits)));
    const std::string devices = exposed_by_device(snapshot, member);
    if (!devices.empty()) { lines.push_back("  in steps, at most: " + devices); }
  };
  say("communication", Exposed::For::comm, &Exposed::comm_ns);
  say("IO", Exposed::For::io, &Exposed::io_ns);
  say("waits for other things", Exposed::For::other, &Exposed::other_ns);
}

/// Adds upper bounds from a device's spans, which may contain more than work.
void overlap_lines(const Snapshot& snapshot, Lines& lines) {
  for (const TimeLineInfo& line : snapshot.time_lines) {
    if (line.steps == 0) { continue; }
    const Overlap& overlap = line.overlap;
    const auto part = [](const char* what, std::int64_t ns) {
      return ns == 0 ? std::string() : detail::format("; {} \u2264 {}", what, human_time(static_cast<double>(ns)));
    };
    lines.push_back(detail::format("{} {}, spans of {} steps, {}{}{}{}", printable(line.device), line.number,
                                   human_count(line.steps), human_time(static_cast<double>(overlap.span_ns)),
                                   part("computing", overlap.compute_ns), part("communication", overlap.comm_ns),
                                   part("IO", overlap.io_ns)));
    if (overlap.undecided == 0) { continue; }
    lines.push_back(
        detail::format("  {} communication{} wholly inside computing: spans cannot show if hidden or waited for; "
                       "put a CommWait region around the stream's wait",
                       human_count(overlap.undecided), plural(overlap.undecided)));
  }
}

void warmup_lines(const Snapshot& snapshot, Lines& lines) {
  for (std::uint32_t index = 0; index < snapshot.paths.size(); ++index) {
    std::uint64_t steps = 0;
    for (const Series& series : snapshot.series) { steps += series.path == index ? series.warmup_steps : 0; }
    if (steps == 0) { continue; }
    lines.push_back(detail::format("warm-up: first {} Batch{} of {}{}, {}: in n, total, self and share only",
                                   human_count(steps), steps == 1 ? "" : "es", path_label(snapshot, index),
                                   is_job(snapshot) ? ", of all ranks together" : "",
                                   human_ns(snapshot.paths[index].host.warmup_total_ns())));
  }
}

/// Adds times that are in the figures although nothing ran; readers need these first.
void halted_lines(const Snapshot& snapshot, Lines& lines) {
  const ProcessTimes& process = snapshot.process;
  const auto time = [](std::int64_t ns) { return human_time(static_cast<double>(ns)); };
  if (process.stopped_ns != 0 && !reports(snapshot.findings, "stopped")) {
    lines.push_back(
        detail::format("the process did not run for at least {} (stopped or starved)", time(process.stopped_ns)));
  }
  if (process.suspended_ns != 0 && !reports(snapshot.findings, "slept")) {
    lines.push_back(detail::format("the machine slept for {}: excluded from these times", time(process.suspended_ns)));
  }
}

void process_lines(const Snapshot& snapshot, Lines& lines) {
  const auto wall = static_cast<double>(snapshot.wall_ns);
  const auto before = static_cast<double>(snapshot.process.before_ns);
  const double ranks = ranks_in(snapshot);
  if (before >= kWorthALine * wall && before > 0) {
    lines.push_back(detail::format("run: begins with the first recording, {} before the Session", human_time(before)));
  }
  const std::int64_t earlier = snapshot.process.earlier_sessions;
  if (earlier != 0) {
    lines.push_back(
        detail::format("run: totals, shares, steps and throughput include what was recorded in {} earlier Session{} of "
                       "this process",
                       earlier, earlier == 1 ? "" : "s"));
  }
  if (!snapshot.process.cpu_ns) { return; }
  const auto cpu = static_cast<double>(*snapshot.process.cpu_ns);
  lines.push_back(detail::format("processor time: {} in {} of wall{} ({})", human_time(cpu), human_time(wall * ranks),
                                 of_ranks(snapshot), percent(cpu, wall * ranks)));
}

void clock_line(const ClockInfo& clock, Lines& lines) {
  std::string text = detail::format("clock: {}, rate within {:.3g} ppm", printable(clock.name), clock.error_ppm);
  if (clock.error_since_ns != 0) {
    text += detail::format(" since {} (before: {:.3g} ppm)", human_time(static_cast<double>(clock.error_since_ns)),
                           clock.worst_error_ppm);
  }
  const double resolution = clock.resolution_ns.value_or(0);
  if (resolution > 1) { text += ", counts in steps of " + human_time(resolution); }
  const auto empty = static_cast<double>(clock.empty_region_ns);
  if (empty > 0 && empty >= std::floor(resolution)) { text += ", an empty region reads " + human_time(empty); }
  if (clock.fallbacks != 0) {
    text += detail::format(", changed {} time{} while running", clock.fallbacks, plural(clock.fallbacks));
  }
  lines.push_back(text);
}

/// Adds the region of several threads whose longest thread is furthest above the mean.
void uneven_line(const Snapshot& snapshot, Lines& lines) {
  double most = 0;
  std::uint32_t uneven = kNoIndex;
  for (std::uint32_t index = 0; index < snapshot.paths.size(); ++index) {
    const PathStats& path = snapshot.paths[index];
    const double above = static_cast<double>(path.spread.longest_ns) - path.ns_a_thread();
    if (path.spread.threads < 2 || above <= most || above < kWorthALine * path.ns_a_thread()) { continue; }
    most = above;
    uneven = index;
  }
  if (uneven == kNoIndex) { return; }
  const PathStats& path = snapshot.paths[uneven];
  lines.push_back(detail::format("  {} on {} threads: {} each on average, at most {} ({})",
                                 path_label(snapshot, uneven), human_count(path.spread.threads),
                                 human_time(path.ns_a_thread()), human_ns(path.spread.longest_ns),
                                 thread_label(snapshot, path.spread.longest)));
}

void run_lines(const Snapshot& snapshot, Lines& lines) {
  const auto wall = static_cast<double>(snapshot.wall_ns);
  const auto uncovered = static_cast<double>(snapshot.uncovered_ns);
  const auto overhead = static_cast<double>(snapshot.overhead_ns);
  const bool has_files = !snapshot.run.directory.empty();
  if (snapshot.trials != nullptr) {
    lines.push_back(detail::format("trials: {} of {}, excluded from all other figures{}",
                                   human_time(static_cast<double>(snapshot.trials->took_ns)), human_time(wall),
                                   has_files ? "; results are in trials.json" : ""));
  }
  if (!snapshot.measurements.empty()) {
    double took_ns = 0;
    for (const auto& each : snapshot.measurements) { took_ns += static_cast<double>(each->took_ns); }
    // Measurements that were replaced or ended by an exception are not included.
    lines.push_back(detail::format("measurements: at least {} of {}, excluded from all other figures{}",
                                   human_time(took_ns), human_time(wall),
                                   has_files ? "; results are in results.csv" : ""));
  }
  lines.push_back(detail::format("no region: {} of {} ({}) on the Session's thread{}", human_time(uncovered),
                                 human_time(wall), percent(uncovered, wall),
                                 is_job(snapshot) ? ", on the rank with the maximum" : ""));
  const auto blocked = static_cast<double>(snapshot.process.blocked_ns);
  lines.push_back(detail::format(
      "Takt's own cost: {} ({} of wall{}), an estimate over all threads, its own included{}", human_time(overhead),
      percent(overhead, wall * ranks_in(snapshot)), of_ranks(snapshot),
      2 * blocked > overhead ? "; " + human_time(blocked) + " of it in the Session's constructor, add() and close()"
                             : ""));
  process_lines(snapshot, lines);
  clock_line(snapshot.clock, lines);
  if (snapshot.threads.size() > static_cast<std::size_t>(ranks_in(snapshot))) {
    const bool shared = std::any_of(snapshot.threads.begin(), snapshot.threads.end(),
                                    [](const ThreadInfo& thread) { return thread.name == ThreadInfo::kFurther; });
    lines.push_back(detail::format("threads: {}{}, with times added up: a share can exceed 100 %",
                                   human_count(snapshot.threads.size()), shared ? " or more" : ""));
    uneven_line(snapshot, lines);
  }
}

/// Effect of dropped data on the figures. Identifiers without an entry are printed as they are.
struct Meaning {
  const char* what;
  const char* text;
};
constexpr Meaning kMeanings[] = {
    {"end_without_start", "ends without a start: ignored"},
    {"never_ended", "regions still open when the next step or their thread ended: not timed"},
    {"ended_late", "regions that ended after they had expired: in n and total, but not in self time and step rows"},
    {"ended_on_another_thread", "regions ended on another thread: in n and total, but not in self time and step rows"},
    {"clock_changed", "regions open while the clock was replaced: not timed"},
    {"overflow", "regions or keys beyond 64 deep, 4 096 paths or the memory bound: only in \"(overflow)\""},
    {"no_place", "regions beyond 3 968 open on a thread, or 64 in a graph: not timed"},
    {"keys_over_bound", "keys beyond 4 000, or their uses: only in \"(overflow)\""},
    {"key_kind_conflict", "keys that were used with two kinds: the first one counts"},
    {"keys_without_memory", "uses of new keys, out of memory: only in \"(overflow)\""},
    {"metrics_without_memory", "metrics with new names, out of memory: dropped"},
    {"memories_not_noted", "MemoryScopes beyond 64 keys or 64 open ones: timed, without memory"},
    {"inside_takt", "regions started by operator new inside Takt: not timed"},
    {"metrics_over_bound", "metrics beyond 1 024 names: dropped"},
    {"threads_without_memory", "regions of threads that started without memory for recording, or had ended: not timed"},
    {"items_or_bytes_not_positive", "items(), bytes() or record() with an invalid number: ignored"},
    {"items_or_bytes_on_another_thread",
     "items() or bytes() on another thread than the region's: ignored; call them on its starting thread"},
    {"sums_at_limit", "sums of times, items or bytes that are saturated at 2^63 - 1"},
    {"steps_beyond_last_number", "steps after number 2^63 - 1: they share that number"},
    {"device_skipped", "stream spans without buffer space or an event: not timed on the device"},
    {"device_failed", "stream spans that the device failed to time, or out of memory: not timed on the device"},
    {"device_unresolved", "stream spans not finished at the end: not timed on the device"},
    {"graph_samples_missed", "graph replays overtaken by the next replay: their spans were not read"},
    {"skipped_capturing", "events not recorded: the stream was being captured into a graph"},
    {"skipped_no_context", "events not recorded: the calling thread had no context for the stream"},
    {"skipped_pending_error", "events not recorded: the application had a pending device error"},
    {"skipped_no_event", "events not recorded: no event could be created"},
    {"skipped_refused", "events not recorded: the driver refused them"},
    {"skipped_other_stream",
     "stream spans that ended on another stream or device than they started on: not timed there"},
    {"skipped_contexts", "events not recorded: more than 64 contexts"},
    {"skipped_not_capturing", "graph events not recorded: the stream was not being captured"},
    {"skipped_graph_unsupported", "graph events not recorded: this device or driver cannot time inside graphs"},
    {"skipped_stream_full",
     "events not recorded: TAKT_GPU_RECORDS were in flight on their stream, because the host is that far ahead"},
    {"skipped_streams", "events not recorded: a context had more than the 512 streams that Takt follows"},
    {"lost_device_error", "stream spans dropped after a device error"},
    {"lost_stream_destroyed", "stream spans pending when their stream was destroyed: dropped"},
    {"clamped_negative", "stream spans that the device reported as negative: counted as 0"},
    {"device_spans_unplaced", "stream spans with unknown start times: not in the time line"},
    {"steps_without_rows", "steps without a row: out of memory, or more than 1 024 series"},
    {"spans_lost", "spans whose start had no buffer space, or another clock: not in the time line"},
    {"rows_not_taken", "steps whose rows were not collected in time: only in the totals"},
    {"metrics_not_taken", "metrics that were not collected in time: dropped"},
    {"spans_not_taken", "spans that were not collected in time: not in the time line"},
    {"rows_incomplete", "step rows that were delivered before all their stream spans"},
    {"rows_dropped", "steps whose rows arrived faster than they were collected: only in the totals"},
    {"metrics_dropped", "metrics that arrived faster than they were collected: dropped"},
    {"metrics_without_room", "metrics of threads without memory: dropped"},
    {"device_values_dropped", "stream spans that arrived faster than they were collected: not in step rows"},
    {"spans_dropped", "spans that arrived faster than they were collected: not in the time line"},
    {"not_in_journal", "step rows, metrics, samples or last totals that did not fit into the journal"},
    {"journal_changed", "journal files that were removed or changed during the run: steps and metrics may be missing"},
    {"not_in_csv", "steps beyond the size limit of steps.csv (takt report --steps prints those in the journal)"},
    {"not_confirmed", "files that the disk did not confirm: their data may not survive a power failure"},
    {"not_exported", "step rows, metrics, spans or samples that an exporter did not take"},
    {"samples_dropped", "samples that were not collected in time: in no figure"},
    {"energies_dropped", "steps or regions that ended long before samples covered them: no energy"},
};

std::string meaning_of(const Loss& loss) {
  for (const Meaning& meaning : kMeanings) {
    if (loss.what == meaning.what) { return meaning.text; }
  }
  return printable(loss.what);
}

void death_line(const Snapshot& snapshot, Lines& lines) {
  const Uncaught& death = snapshot.uncaught;
  if (!death.happened) { return; }
  const std::string what = death.type.empty() ? "std::terminate() without an exception" : "an uncaught " + death.type;
  const std::string message = death.message.empty() ? "" : " (\"" + fit(printable(death.message), 500) + "\")";
  const std::string where =
      death.open.empty() ? "outside all regions" : "in " + path_label(snapshot, death.open.back());
  lines.push_back(detail::format("died of {}{} {}", printable(what), message, where));
}

void missing_lines(const Snapshot& snapshot, Lines& lines) {
  for (const DeviceInfo& device : snapshot.devices) {
    const std::string name = printable(device.name);
    if (!device.unavailable.empty()) {
      lines.push_back(detail::format("{} is unavailable: {}", name, printable(device.unavailable)));
    }
    if (!device.caveat.empty()) { lines.push_back(detail::format("{}: {}", name, printable(device.caveat))); }
  }
  for (const OpenRegion& open : snapshot.open) {
    lines.push_back(detail::format("unfinished: {} on {}, open {}: in total and share only",
                                   path_label(snapshot, open.path), on_thread(thread_label(snapshot, open.thread)),
                                   human_time(static_cast<double>(open.open_ns))));
  }
  for (const Loss& loss : snapshot.losses) {
    if (loss.what == "never_ended" && reports(snapshot.findings, loss.what)) { continue; }
    const std::string where = loss.where.empty() ? "" : " (" + fit_end(printable(loss.where), 60) + ")";
    lines.push_back(detail::format("note: {} x {}{}", human_count(loss.count), meaning_of(loss), where));
  }
}

}  // namespace

std::string thread_label(const std::string& name) { return fit(printable(name), 40); }

std::string thread_label(const Snapshot& snapshot, std::uint32_t thread) {
  return thread < snapshot.threads.size() ? thread_label(snapshot.threads[thread].name)
                                          : detail::format("thread {}", thread);
}

std::string path_label(const Snapshot& snapshot, std::uint32_t path, std::size_t columns) {
  if (path >= snapshot.paths.size()) { return "?"; }
  return fit_end(printable(snapshot.path_name(path)), columns);
}

std::string machine_text(const Snapshot& snapshot) {
  const MachineInfo& machine = snapshot.run.machine;
  std::string text;
  const auto add = [&text](const char* separator, const std::string& part) {
    if (!part.empty()) { text += (text.empty() ? "" : separator) + part; }
  };
  add(", ", machine.cpu);
  if (machine.logical_cpus) {
    const std::int64_t usable = snapshot.process.processors.value_or(*machine.logical_cpus);
    add(", ", detail::format("{} of {} CPUs", usable, *machine.logical_cpus));
  }
  if (machine.host_memory_bytes) { add(", ", human_bytes(static_cast<double>(*machine.host_memory_bytes))); }
  for (std::size_t at = 0, end = 0; at < machine.gpus.size(); at = end) {
    while (end < machine.gpus.size() && machine.gpus[end] == machine.gpus[at]) { ++end; }
    add(", ", (end - at == 1 ? "" : std::to_string(end - at) + " x ") + machine.gpus[at]);
  }
  if (!machine.commit.empty()) { add("; ", "commit " + machine.commit.substr(0, 7)); }
  if (!machine.compiler.empty()) { add("; ", "takt " + snapshot.run.takt_version + ", " + machine.compiler); }
  for (const auto& [name, version] : machine.libraries) { add(", ", name + " " + version); }
  return printable(text);
}

Notes notes_of(const Snapshot& snapshot) {
  Notes notes;
  const auto paths = static_cast<std::uint32_t>(snapshot.paths.size());
  add_throughputs(snapshot, notes.rates);
  for (std::uint32_t path = 0; path < paths; ++path) { amount_lines(snapshot, path, notes.rates); }
  exposed_lines(snapshot, notes.rates);
  overlap_lines(snapshot, notes.rates);
  add_sampled(snapshot, notes.rates);
  halted_lines(snapshot, notes.caveats);
  warmup_lines(snapshot, notes.caveats);
  // A summary gathered by messages has no clock and no process data.
  if (!is_job(snapshot) || !snapshot.clock.name.empty()) { run_lines(snapshot, notes.caveats); }
  add_path_notes(snapshot, notes.caveats);
  death_line(snapshot, notes.caveats);
  add_sample_caveats(snapshot, notes.caveats);
  missing_lines(snapshot, notes.caveats);
  if (const std::string text = machine_text(snapshot); !text.empty()) {
    notes.caveats.push_back("machine: " + (is_job(snapshot) ? "" : printable(snapshot.run.host) + ", ") + text);
  }
  if (!snapshot.run.directory.empty()) { notes.caveats.push_back("files: " + printable(snapshot.run.directory)); }
  return notes;
}

}  // namespace detail
TAKT_END_NAMESPACE
