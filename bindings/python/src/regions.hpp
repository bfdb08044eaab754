// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <Python.h>

/// Adds region(), span(), metric(), record() and their type to the module. Returns false with a Python error set.
bool add_regions(PyObject* module);
