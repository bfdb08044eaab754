// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// A plug-in that contains all of Takt and, as far as its linker knows, may be unloaded.
#include <takt/session.hpp>
#include <takt/takt.hpp>

extern "C" __attribute__((visibility("default"))) void plugin_record() { const takt::Scope scope(takt::Forward); }
extern "C" __attribute__((visibility("default"))) bool plugin_session() {
  takt::Session session("plugin");
  plugin_record();
  return session.close();
}
