// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Runs the training step of the examples on gpu_simulator.cpp: tests its order of work and Takt's results without a
// GPU.
#include "device/gpu_simulated_device.hpp"
#define GPU_LAUNCH(...) gpu_simulator::launch(__VA_ARGS__)
#include "../../examples/18_cuda_training_step.cu"
