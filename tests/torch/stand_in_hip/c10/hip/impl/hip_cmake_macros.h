// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Only a libtorch built for HIP has this header.
#pragma once
