#pragma once
// Which of Highway's instruction sets the reduction kernels are compiled for. To be included before any Highway header.
//
// Portable code, AVX2 and AVX-512 on x86; NEON on ARM. SSSE3 and SSE4 would add compile time for processors from before
// 2013; the kernels halve fixed-size vectors for tails, which the scalable sets (SVE, RVV) do not offer.

#define HWY_DISABLED_TARGETS \
    (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)

// Portable code is one lane at a time with every compiler. Highway's 128-bit emulation, its default with some, is no
// faster here and takes minutes to compile under sanitizers.
#define HWY_BROKEN_EMU128 1
