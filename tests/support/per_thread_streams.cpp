// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#define CUDA_API_PER_THREAD_DEFAULT_STREAM 1
#include "support/default_streams.hpp"

takt_test::DefaultStreams takt_test::per_thread_default_streams() { return default_streams_here(); }
