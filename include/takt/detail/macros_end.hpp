// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Takes back what macros_begin.hpp has defined: it is for nobody but Takt's own headers and sources.

#ifndef TAKT_LIBRARY
#undef TAKT_BEGIN_QUIET
#undef TAKT_END_QUIET
#undef TAKT_BEGIN_NAMESPACE
#undef TAKT_END_NAMESPACE
#undef TAKT_BEGIN_OFF_NAMESPACE
#undef TAKT_END_OFF_NAMESPACE
#undef TAKT_EXPORT
#undef TAKT_INITIAL_EXEC
#undef TAKT_LIKELY
#undef TAKT_UNLIKELY
#undef TAKT_NOINLINE
#undef TAKT_COLD
#undef TAKT_ALWAYS_INLINE
#endif
