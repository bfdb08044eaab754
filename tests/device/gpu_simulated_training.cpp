// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// The training step of the examples on gpu_simulator.cpp: its order of work, and what Takt makes of it, without a GPU.
#include "device/gpu_simulated_device.hpp"
#define GPU_LAUNCH(...) gpu_simulator::launch(__VA_ARGS__)
#include "../../examples/18_cuda_training_step.cu"
