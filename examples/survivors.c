/* Three ranks, each a process. One dies in the middle; the others are told, leave it out, and go on. */
#include <rondo/rondo.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kRanks = 3, kSteps = 100 };

static void check(rondoResult_t result) {
    if (result == rondoSuccess) return;
    fprintf(stderr, "%s: %s\n", rondoGetErrorString(result), rondoGetLastError(NULL));
    exit(1);
}

/* Puts a communicator without the rank that failed in place of the old one. */
static rondoComm_t leave_out_failed(rondoComm_t comm) {
    rondoErrorInfo_t info = {.size = sizeof info};
    check(rondoCommGetErrorInfo(comm, &info));
    const int gone = info.peer; /* the same on all that are left */
    if (gone < 0) {             /* a cause that is about no single rank */
        fprintf(stderr, "%s\n", info.cause);
        exit(1);
    }
    rondoComm_t smaller;
    check(rondoCommShrink(comm, &gone, 1, &smaller, NULL));
    check(rondoCommDestroy(comm));
    return smaller;
}

static void run_rank(rondoUniqueId id, int rank) {
    rondoComm_t comm;
    check(rondoCommInitRank(&comm, kRanks, id, rank));
    for (int step = 0; step < kSteps; ++step) {
        if (rank == 2 && step == 50) raise(SIGKILL);
        double sum = rank;
        while (rondoAllReduce(&sum, &sum, 1, rondoFloat64, rondoSum, comm, NULL) != rondoSuccess) {
            comm = leave_out_failed(comm);
            /* Some may have finished the step that others could not: all go back to the earliest. */
            check(rondoAllReduce(&step, &step, 1, rondoInt32, rondoMin, comm, NULL));
            sum = rank;
        }
    }
    int left = 0;
    check(rondoCommCount(comm, &left));
    if (rank == 0) printf("%d of %d ranks came to the end\n", left, kRanks);
    check(rondoCommDestroy(comm));
}

int main(void) {
    rondoUniqueId id;
    check(rondoGetUniqueId(&id)); /* this process must live as long as the communicator */
    for (int rank = 0; rank < kRanks; ++rank) {
        if (fork() == 0) {
            run_rank(id, rank);
            return 0;
        }
    }
    int failed = 0;
    for (int status; wait(&status) > 0;) failed += status != 0;
    return failed == 1 ? 0 : 1; /* the one that was killed */
}
