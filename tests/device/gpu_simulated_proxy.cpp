// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Runs the inference proxy of the examples on gpu_simulator.cpp: tests its order of work and Takt's results without a
// GPU.
#include "device/gpu_simulated_device.hpp"
#define GPU_LAUNCH(...) gpu_simulator::launch(__VA_ARGS__)
#define PROXY_ON_GPU
#include "../../examples/22_inference_proxy.cpp"
