// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// The same program for nvcc, which needs this file extension: inference on the GPU if available, else on the processor.
#include "22_inference_proxy.cpp"
