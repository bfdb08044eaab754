// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// A libtorch that is built for HIP has this header, and others have not.
#pragma once
