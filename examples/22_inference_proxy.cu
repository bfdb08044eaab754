// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// The same for nvcc, which knows a source by its name: inference on the GPU where there is one, else on the processor.
#include "22_inference_proxy.cpp"
