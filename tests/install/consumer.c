/* A C99 program outside of Rondo: two ranks driven by one thread add their vectors. */
#include <rondo/rondo.h>
#include <stdio.h>

enum { kRanks = 2, kCount = 5 };

static int failed(rondoResult_t result, const char* call) {
    if (result == rondoSuccess) return 0;
    fprintf(stderr, "%s: %s: %s\n", call, rondoGetErrorString(result), rondoGetLastError(NULL));
    return 1;
}

static int check_version(void) {
    int version = -1;
    if (failed(rondoGetVersion(&version), "rondoGetVersion")) return 1;
    if (version != RONDO_VERSION_CODE) {
        fprintf(stderr, "library %d, header %d\n", version, RONDO_VERSION_CODE);
        return 1;
    }
    printf("%s\n", rondoGetBuildInfo());
    return 0;
}

static int check_all_reduce(void) {
    rondoComm_t comms[kRanks];
    float data[kRanks][kCount];
    int wrong = 0;
    if (failed(rondoCommInitAll(comms, kRanks, NULL), "rondoCommInitAll")) return 1;
    if (failed(rondoGroupStart(), "rondoGroupStart")) return 1;
    for (int rank = 0; rank < kRanks; ++rank) {
        for (int i = 0; i < kCount; ++i) data[rank][i] = (float)(10 * rank + i + 1);
        if (failed(rondoAllReduce(data[rank], data[rank], kCount, rondoFloat32, rondoSum, comms[rank], NULL),
                   "rondoAllReduce")) {
            return 1;
        }
    }
    if (failed(rondoGroupEnd(), "rondoGroupEnd")) return 1;
    for (int rank = 0; rank < kRanks; ++rank) {
        for (int i = 0; i < kCount; ++i) {
            const float expected = (float)(10 + 2 * (i + 1));
            if (data[rank][i] < expected || data[rank][i] > expected) ++wrong;
        }
        if (failed(rondoCommDestroy(comms[rank]), "rondoCommDestroy")) return 1;
    }
    printf("all_reduce over %d ranks: %d wrong\n", kRanks, wrong);
    return wrong;
}

int main(void) { return check_version() || check_all_reduce(); }
