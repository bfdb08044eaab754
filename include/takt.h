/* SPDX-FileCopyrightText: The Takt authors
 * SPDX-License-Identifier: BSD-3-Clause */

/* Takt for C and for languages that call C. docs/c.md has an introduction.
 *
 * ABI: a program compiled with this header runs with every later libtakt of the same major version. Functions, numbers
 * and takt_region keep their meaning, sizes and layout; new functions and options may be added.
 *
 * Functions that return int return TAKT_OK or another code below. Every error is also one line on stderr, at most one
 * per cause in five minutes, and takt_last_error() returns its text. No call throws, exits, or waits for another
 * thread's region. Any thread may call any function, unless stated otherwise; signal handlers may call none. */
#ifndef TAKT_H
#define TAKT_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__) && !defined(_WIN32)
#define TAKT_C_EXPORT __attribute__((visibility("default")))
#else
#define TAKT_C_EXPORT
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** Results of calls. */
enum {
  TAKT_OK = 0,
  TAKT_MISUSE = 1,     /**< a wrong argument or order of calls; the rest of the program is recorded as usual */
  TAKT_INCOMPLETE = 2, /**< not all data reached its files and exporters */
  TAKT_NO_MEMORY = 3
};

/** Categories of regions, as in takt::Kind. */
enum {
  TAKT_ANY = -1, /**< that of the name: of a predefined key, or of one made earlier; else TAKT_OTHER */
  TAKT_COMPUTE = 0,
  TAKT_COMM = 1,
  TAKT_IO = 2,
  TAKT_WAIT = 3,
  TAKT_OTHER = 4
};

/** The name and kind of regions. Valid for the life of the process. */
typedef struct takt_key takt_key;
/** Options of a run. */
typedef struct takt_options takt_options;

/** A started region, by value. {0, 0} is none; place is 0 when it has ended. The rest is internal. */
typedef struct takt_region {
  uint64_t place;
  uint64_t start;
} takt_region;

/** Returns the key of a name. The first use registers the name; keep the result outside of loops. "Epoch", "Batch",
 * "Forward", "Backward", "Comm", "IO", "Optimizer", "Validation" and "Checkpoint" are predefined. Beyond 4,000 names
 * it returns one key, "(overflow)", for all others. NULL is reported and gives the key "Other". Never returns NULL. */
TAKT_C_EXPORT const takt_key* takt_get_key(const char* name, int kind);

/** Starts a region. A NULL key is reported and counts as "Other". */
TAKT_C_EXPORT takt_region takt_begin(const takt_key* key);
/** The same, but times only every n-th region of the key on this thread; the others are counted. */
TAKT_C_EXPORT takt_region takt_begin_every(const takt_key* key, uint32_t n);
/** The same, and times the span between two events on a cudaStream_t; link takt::cuda. NULL is the legacy default
 * stream: pass cudaStreamPerThread if you compile with per-thread default streams. */
TAKT_C_EXPORT takt_region takt_begin_cuda(const takt_key* key, void* stream);
/** The same for a hipStream_t; link takt::hip. */
TAKT_C_EXPORT takt_region takt_begin_hip(const takt_key* key, void* stream);
/** Ends a region, on any thread, and sets `place` to 0. A region that is not open is reported and counted. */
TAKT_C_EXPORT int takt_end(takt_region* region);
/** Ends a region, if it is open, and starts one of `key` with the same clock reading. */
TAKT_C_EXPORT int takt_lap(takt_region* region, const takt_key* key);
/** Adds n >= 1 items (samples, tokens) or bytes moved to an open region, on the thread that started it. */
TAKT_C_EXPORT int takt_items(const takt_region* region, int64_t n);
TAKT_C_EXPORT int takt_bytes(const takt_region* region, int64_t n);
/** Adds a region of `ns` >= 0 nanoseconds that was timed elsewhere. */
TAKT_C_EXPORT int takt_record(const takt_key* key, int64_t ns);

/** Switches recording off (0) and on for the whole process. */
TAKT_C_EXPORT void takt_set_enabled(int on);
TAKT_C_EXPORT int takt_enabled(void);
/** Names the calling thread in reports. */
TAKT_C_EXPORT int takt_name_thread(const char* name);

/** Makes options with the defaults and the environment's values; free them by takt_options_free(). NULL without
 * memory. */
TAKT_C_EXPORT takt_options* takt_options_new(void);
/** Sets an option by the name of its variable (docs/environment.md), such as "TAKT_WARMUP". It wins over the
 * environment. An unknown name or an invalid value is an error and changes nothing. One thread at a time. */
TAKT_C_EXPORT int takt_options_set(takt_options* options, const char* name, const char* value);
TAKT_C_EXPORT void takt_options_free(takt_options* options);

/** Opens the run of this process. A process has one at a time; the calls below refer to it, also if C++ opened it.
 * Regions are timed without one, too.
 * \param name display name, and the start of the directory's name; NULL means "run".
 * \param options NULL: the environment's. */
TAKT_C_EXPORT int takt_open(const char* name, const takt_options* options);
/** Ends the run: writes files, prints the table. Returns TAKT_INCOMPLETE if something could not be finished in time.
 * exit() does the same for a run that is still open. */
TAKT_C_EXPORT int takt_close(void);

/** Records a hyper-parameter or tag; a later value of the same name wins. */
TAKT_C_EXPORT int takt_param(const char* name, const char* value);
TAKT_C_EXPORT int takt_param_int(const char* name, int64_t value);
TAKT_C_EXPORT int takt_param_real(const char* name, double value);
TAKT_C_EXPORT int takt_tag(const char* name, const char* value);
/** Sets the group of this rank, such as "stage" 2 of a pipeline. */
TAKT_C_EXPORT int takt_group(const char* name, int number);
/** Records a number at the calling thread's current step, or at `step`. */
TAKT_C_EXPORT int takt_metric(const char* name, double value);
TAKT_C_EXPORT int takt_metric_at(const char* name, double value, int64_t step);
/** Sets the step number of the calling thread's current or next Batch. */
TAKT_C_EXPORT int takt_step(int64_t number);
/** Marks the run as failed. */
TAKT_C_EXPORT int takt_fail(void);
/** Prints the table of the run so far on stdout. */
TAKT_C_EXPORT int takt_print(void);

/** Returns what this process has recorded so far, as in summary.json; free it by takt_free(). NULL on errors. */
TAKT_C_EXPORT char* takt_snapshot_json(void);
TAKT_C_EXPORT void takt_free(void* text);

/** Returns the text of the calling thread's last error, "" for none; valid until its next error. */
TAKT_C_EXPORT const char* takt_last_error(void);
/** Sets the function that gets the line of each error instead of stderr; NULL restores the default. */
TAKT_C_EXPORT void takt_set_error_handler(void (*handler)(const char* line, void* context), void* context);

/** With MPI: compile takt_mpi.cpp with your MPI (docs/c.md). All ranks call takt_mpi_options() between MPI_Init and
 * MPI_Finalize: it sets rank, size and run id. All call takt_mpi_reduce() before takt_close(): the table of rank 0 then
 * describes the job. `milliseconds` limits the wait for each silent rank.
 * \param comm MPI_Comm_c2f() of a communicator, or comm%MPI_VAL in Fortran. */
int takt_mpi_options(takt_options* options, int comm);
int takt_mpi_reduce(int milliseconds);

/* Internal: starts a region on a stream. */
TAKT_C_EXPORT takt_region takt_begin_stream_(const takt_key* key, const void* operations, void* handle);
/* Internal: ends the region of a scope, if it is open. */
static inline void takt_leave_(takt_region* region) {
  if (region->place != 0) { (void)takt_end(region); }
}

#ifdef __cplusplus
}
#endif

#define TAKT_JOIN__(a, b) a##b
#define TAKT_JOIN_(a, b) TAKT_JOIN__(a, b)
#if defined(__GNUC__)
#define TAKT_LEAVES_ __attribute__((cleanup(takt_leave_), unused))
#else
#define TAKT_LEAVES_
#endif

/** Times a block: TAKT_REGION(key) { ... }. In it, break and continue leave only this block. With GCC and clang every
 * way out ends the region, except longjmp(); with other compilers break, return and goto leave it open. */
#define TAKT_REGION(key)                                                              \
  for (takt_region TAKT_LEAVES_ TAKT_JOIN_(takt_region_, __LINE__) = takt_begin(key); \
       TAKT_JOIN_(takt_region_, __LINE__).place != 0; (void)takt_end(&TAKT_JOIN_(takt_region_, __LINE__)))

#if defined(__GNUC__) && !defined(__cplusplus)
/** Times from here to the end of the block, by any way out (GCC and clang). C++ has its own, in takt/scope.hpp. */
#define TAKT_SCOPE(key) takt_region TAKT_LEAVES_ TAKT_JOIN_(takt_scope_, __LINE__) = takt_begin(key)
#endif

#endif
