# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""NVIDIA's binding and Takt read the same from the fake library, so Takt's prototypes and constants match NVIDIA's."""

import os
import pathlib
import re
import sys
import unittest

import pynvml as nvml

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "integration"))
import rig

MIB = 2**20
GIB = 2**30
# Names of Takt's constants, with NVIDIA's names if these cannot be derived.
CONSTANTS = {
    "kNvmlSuccess": nvml.NVML_SUCCESS,
    "kNvmlNotSupported": nvml.NVML_ERROR_NOT_SUPPORTED,
    "kNvmlFunctionNotFound": nvml.NVML_ERROR_FUNCTION_NOT_FOUND,
    "kNvmlGpuIsLost": nvml.NVML_ERROR_GPU_IS_LOST,
    "kNvmlGpuNotFound": nvml.NVML_ERROR_GPU_NOT_FOUND,
    "kNvmlClockSm": nvml.NVML_CLOCK_SM,
    "kNvmlTemperatureGpu": nvml.NVML_TEMPERATURE_GPU,
    "kNvmlMigEnabled": nvml.NVML_DEVICE_MIG_ENABLE,
    "kNvmlUuidBytes": nvml.NVML_DEVICE_UUID_V2_BUFFER_SIZE,
    "kNvmlNameBytes": nvml.NVML_DEVICE_NAME_V2_BUFFER_SIZE,
    "kNvmlMemoryV2": nvml.nvmlMemory_v2,
    "kNvmlSwPowerCap": nvml.nvmlClocksEventReasonSwPowerCap,
    "kNvmlHwSlowdown": nvml.nvmlClocksThrottleReasonHwSlowdown,
    "kNvmlSwThermalSlowdown": nvml.nvmlClocksEventReasonSwThermalSlowdown,
    "kNvmlHwThermalSlowdown": nvml.nvmlClocksThrottleReasonHwThermalSlowdown,
    "kNvmlHwPowerBrakeSlowdown": nvml.nvmlClocksThrottleReasonHwPowerBrakeSlowdown,
}


class Binding(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        nvml.nvmlInit()
        cls.gpus = [nvml.nvmlDeviceGetHandleByIndex(index) for index in range(nvml.nvmlDeviceGetCount())]

    def test_constants_are_nvidias(self):
        header = pathlib.Path(os.environ["HEADER"]).read_text(encoding="utf-8")
        found = re.findall(r"^constexpr [a-z ]+ (kNvml\w+) = (\w+);", header, re.MULTILINE)
        self.assertEqual({name: int(number, 0) for name, number in found}, CONSTANTS)

    def test_identity(self):
        self.assertEqual(len(self.gpus), 3)
        self.assertEqual(nvml.nvmlDeviceGetName(self.gpus[1]), "NVIDIA A100-SXM4-80GB")
        uuid = nvml.nvmlDeviceGetUUID(self.gpus[1])
        self.assertRegex(uuid, "^GPU-")
        self.assertEqual(nvml.nvmlDeviceGetName(nvml.nvmlDeviceGetHandleByUUID(uuid.encode())), "NVIDIA A100-SXM4-80GB")

    def test_values(self):
        first, second, _ = self.gpus
        self.assertEqual(nvml.nvmlDeviceGetPowerUsage(second), 250_000)
        self.assertEqual(nvml.nvmlDeviceGetEnforcedPowerLimit(second), 700_000)
        self.assertEqual(nvml.nvmlDeviceGetMemoryInfo(second).total, 80 * GIB)
        self.assertEqual(nvml.nvmlDeviceGetMemoryInfo(second).free, 77 * GIB)
        self.assertEqual(nvml.nvmlDeviceGetMemoryInfo(second).used, 3 * GIB)
        second_version = nvml.nvmlDeviceGetMemoryInfo(second, nvml.nvmlMemory_v2)
        self.assertEqual(second_version.reserved, 600 * MIB)
        self.assertEqual(second_version.used, 3 * GIB - 600 * MIB)
        self.assertEqual((second_version.total, second_version.free), (80 * GIB, 77 * GIB))
        self.assertEqual(nvml.nvmlDeviceGetUtilizationRates(second).gpu, 35)
        self.assertEqual(nvml.nvmlDeviceGetUtilizationRates(second).memory, 40)
        self.assertEqual(nvml.nvmlDeviceGetClockInfo(second, nvml.NVML_CLOCK_SM), 1410)
        self.assertEqual(nvml.nvmlDeviceGetTemperature(second, nvml.NVML_TEMPERATURE_GPU), 44)
        self.assertEqual(
            nvml.nvmlDeviceGetCurrentClocksEventReasons(second),
            nvml.nvmlClocksEventReasonSwPowerCap | nvml.nvmlClocksEventReasonSwThermalSlowdown,
        )
        self.assertGreaterEqual(nvml.nvmlDeviceGetTotalEnergyConsumption(first), 5_000_000)
        with self.assertRaises(nvml.NVMLError_NotSupported):
            nvml.nvmlDeviceGetTotalEnergyConsumption(second)

    def test_slices(self):
        cut = self.gpus[2]
        self.assertEqual(nvml.nvmlDeviceGetMigMode(cut), [nvml.NVML_DEVICE_MIG_ENABLE] * 2)
        self.assertEqual(nvml.nvmlDeviceGetMaxMigDeviceCount(cut), 7)
        mig = nvml.nvmlDeviceGetMigDeviceHandleByIndex(cut, 1)
        self.assertEqual(nvml.nvmlDeviceGetMemoryInfo(mig).total, 10 * GIB)
        parent = nvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(mig)
        self.assertEqual(nvml.nvmlDeviceGetUUID(parent), nvml.nvmlDeviceGetUUID(cut))


class Program(rig.Case):
    """Takt looks up the library by name and reads the same values."""

    def meters(self, **env):
        self.run_program(TAKT_SAMPLE_MS=10, TAKT_TABLE=0, LD_LIBRARY_PATH=os.environ["LD_LIBRARY_PATH"], **env)
        self.read = self.summary()
        return [each for each in self.read["meters"] if each["kind"] == "device"]

    def test_all_devices(self):
        first, second, third = self.meters()
        self.assertEqual([each["name"] for each in (first, second, third)], ["cuda 0", "cuda 1", "cuda 2"])
        self.assertEqual(first["energy"]["source"], "counter")
        self.assertEqual(second["energy"]["source"], "power")
        seconds = (second["last_ns"] - second["first_ns"]) / 1e9
        self.assertAlmostEqual(second["energy"]["joules"], 250 * seconds, delta=0.01 * 250 * seconds)
        figures = second["figures"]
        self.assertEqual(figures["power_w"]["mean"], 250)
        self.assertEqual(figures["memory_bytes"]["most"], 3 * GIB)
        self.assertAlmostEqual(figures["utilization_percent"]["mean"], 35)
        self.assertEqual(figures["clock_mhz"]["least"], 1410)
        self.assertEqual(figures["temperature_c"]["most"], 44)
        self.assertEqual(second["power_limit_w"], 700)
        self.assertEqual(second["reserved_bytes"], 600 * MIB)
        self.assertEqual(second["slowed"]["ns"], second["last_ns"] - second["first_ns"])
        self.assertEqual(third["memory_bytes"], 10 * GIB)
        self.assertIn("MIG slice", third["caveat"])
        self.assertNotIn("NVIDIA GPUs", [each["what"] for each in self.read["unsampled"]])

    def test_one_of_them(self):
        (only,) = self.meters(CUDA_VISIBLE_DEVICES="1", CUDA_DEVICE_ORDER="PCI_BUS_ID")
        self.assertEqual((only["name"], only["number"]), ("cuda 0", 1))
        self.assertEqual(only["model"], "NVIDIA A100-SXM4-80GB")


if __name__ == "__main__":
    rig.main()
