/* Four ranks, each a thread, add their vectors. */
#include <pthread.h>
#include <rondo/rondo.h>
#include <stdio.h>
#include <stdlib.h>

enum { kRanks = 4, kCount = 3 };

static rondoUniqueId id; /* made once, the same for all ranks */

static void check(rondoResult_t result) {
    if (result == rondoSuccess) return;
    fprintf(stderr, "%s: %s\n", rondoGetErrorString(result), rondoGetLastError(NULL));
    exit(1);
}

static void* run_rank(void* argument) {
    const int rank = *(const int*)argument;
    rondoComm_t comm;
    check(rondoCommInitRank(&comm, kRanks, id, rank));

    float mine[kCount];
    float sum[kCount];
    for (int i = 0; i < kCount; ++i) mine[i] = (float)(10 * rank + i);
    check(rondoAllReduce(mine, sum, kCount, rondoFloat32, rondoSum, comm, NULL));
    if (rank == 0) printf("sum over %d ranks: %g %g %g\n", kRanks, sum[0], sum[1], sum[2]);

    check(rondoCommDestroy(comm));
    return NULL;
}

int main(void) {
    pthread_t threads[kRanks];
    int ranks[kRanks];
    check(rondoGetUniqueId(&id));
    for (int r = 0; r < kRanks; ++r) {
        ranks[r] = r;
        if (pthread_create(&threads[r], NULL, run_rank, &ranks[r]) != 0) return 1;
    }
    for (int r = 0; r < kRanks; ++r) pthread_join(threads[r], NULL);
    return 0;
}
