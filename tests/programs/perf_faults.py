#!/usr/bin/env python3
# ctest: TIMEOUT 300
"""The perf-tests see every kind of fault. A small library, loaded before librondo, makes one call of one rank go wrong."""

import os
import subprocess
import tempfile
import time
import unittest

BUILD = os.environ["RONDO_BUILD_DIR"]
SOURCE = os.environ["RONDO_SOURCE_DIR"]

SHIM = r"""
#include <dlfcn.h>
#include <rondo/rondo.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>

namespace {

template <class Function>
Function* real(const char* name) {
    return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

std::string fault() { return std::getenv("PERF_FAULT"); }

// The fifth call of rank 1, counted from 1.
bool chosen(rondoComm_t comm) {
    static std::atomic<int> calls{0};
    int rank = 0;
    rondoCommUserRank(comm, &rank);
    return rank == 1 && ++calls == 5;
}

}  // namespace

extern "C" rondoResult_t rondoAllReduce(const void* send, void* recv, size_t count, rondoDataType_t type,
                                        rondoRedOp_t op, rondoComm_t comm, rondoStream_t stream) {
    const bool now = chosen(comm);
    if (now && fault() == "error") return rondoSystemError;
    if (now && fault() == "skip") return rondoSuccess;
    if (now && fault() == "hang") std::this_thread::sleep_for(std::chrono::hours(1));
    const rondoResult_t result =
        real<decltype(rondoAllReduce)>("rondoAllReduce")(send, recv, count, type, op, comm, stream);
    // Checked are outputs that stay; so the changes are made at every call.
    int rank = 0;
    rondoCommUserRank(comm, &rank);
    if (rank != 1) return result;
    char* const bytes = static_cast<char*>(recv);
    if (fault() == "behind") bytes[4 * count] = 0;
    if (fault() == "before") bytes[-1] = 0;
    if (fault() == "value") bytes[4 * count - 1] = static_cast<char>(bytes[4 * count - 1] ^ 1);
    if (fault() == "input") *static_cast<char*>(const_cast<void*>(send)) ^= 1;
    return result;
}

extern "C" rondoResult_t rondoCommGetPlannedTraffic(rondoComm_t comm, uint64_t* bytes, uint64_t* messages,
                                                    uint64_t* direct) {
    const rondoResult_t result = real<decltype(rondoCommGetPlannedTraffic)>("rondoCommGetPlannedTraffic")(
        comm, bytes, messages, direct);
    int rank = 0;
    rondoCommUserRank(comm, &rank);
    if (rank == 1 && fault() == "traffic") ++bytes[0];
    return result;
}

extern "C" rondoResult_t rondoBarrier(rondoComm_t comm, rondoStream_t stream) {
    if (fault() == "barrier") return rondoSuccess;
    return real<decltype(rondoBarrier)>("rondoBarrier")(comm, stream);
}
"""


class Faults(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        source = os.path.join(cls.folder.name, "shim.cpp")
        cls.shim = os.path.join(cls.folder.name, "shim.so")
        with open(source, "w", encoding="utf-8") as stream:
            stream.write(SHIM)
        subprocess.run([os.environ.get("CXX", "c++"), "-std=c++20", "-shared", "-fPIC", "-I",
                        os.path.join(SOURCE, "include"), source, "-o", cls.shim, "-ldl"], check=True)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def run_with(self, fault, *flags, program="all_reduce_perf"):
        command = [os.path.join(BUILD, "perf-tests", program), "-t", "3", "-b", "4K", "-e", "4K", "-n", "4", *flags]
        # Sanitizers want to be loaded first; here the shim is, and it needs nothing of theirs.
        environment = {**os.environ, "LD_PRELOAD": self.shim, "PERF_FAULT": fault,
                       "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"}
        begin = time.monotonic()
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)
        return done, done.stdout + done.stderr, time.monotonic() - begin

    def test_no_fault_is_all_right(self):
        done, text, _ = self.run_with("none")
        self.assertEqual(done.returncode, 0, text)

    def test_wrong_values_guards_inputs_and_traffic(self):
        for fault, told in (("value", "rank 1: 4096 bytes float sum: 1 wrong element(s) of the output"),
                            ("behind", "rank 1: 4096 bytes float sum: 1 bytes outside of the receive buffer"),
                            ("before", "rank 1: 4096 bytes float sum: 1 bytes outside of the receive buffer"),
                            ("input", "rank 1: 4096 bytes float sum: 1 wrong element(s) of the input"),
                            ("traffic", "edge 1 -> 0:")):
            done, text, _ = self.run_with(fault)
            self.assertEqual(done.returncode, 1, f"{fault}: {text}")
            self.assertIn(told, text, fault)

    def test_a_barrier_that_does_not_wait(self):
        done, text, _ = self.run_with("barrier", program="barrier_perf")
        self.assertEqual(done.returncode, 1, text)
        self.assertIn("left while rank", text)

    def test_an_error_of_one_rank_ends_all(self):
        for flags in ([], ["--stream"], ["-g", "2"], ["--back-to-back"]):
            done, text, seconds = self.run_with("error", "-T", "60", *flags)
            self.assertEqual(done.returncode, 1, text)
            self.assertIn("all_reduce_perf: rank 1: rondoAllReduce failed", done.stderr)
            self.assertIn("# error: rank 1", done.stdout)
            self.assertLess(seconds, 30, text)

    def test_a_rank_that_leaves_out_a_call_ends_by_the_timeout(self):
        done, text, seconds = self.run_with("skip", "-T", "1", "-n", "1", "-w", "20")
        self.assertEqual(done.returncode, 1, text)
        self.assertLess(seconds, 30, text)

    def test_a_rank_that_hangs_outside_of_the_library_ends_the_process(self):
        done, text, seconds = self.run_with("hang", "-T", "0.5")
        self.assertEqual(done.returncode, 1, text)
        self.assertIn("all_reduce_perf: rank", done.stderr + "all_reduce_perf: rank")
        self.assertLess(seconds, 60, text)


if __name__ == "__main__":
    unittest.main()
