// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// The training step on an AMD GPU: the same program, compiled as HIP.
//
//     hipcc -std=c++17 -Iinclude -Ibackends/include examples/19_hip_training_step.hip -o training \
//           -Lbuild-release -Lbuild-release/backends -ltakt_hip -ltakt
#include "18_cuda_training_step.cu"
