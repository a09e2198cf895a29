#!/bin/bash
# Usage: tests/support/mpirun.sh N PROGRAM ARGS...
# N processes of a program by OpenMPI on this machine, however few cores it has and whoever runs it.
set -euo pipefail

nprocs=$1
shift
flags=(--oversubscribe -np "$nprocs")
if [ "$(id -u)" = 0 ]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    flags+=(--allow-run-as-root)
fi
# Shared memory and this machine's own connections are enough; no search for networks.
export OMPI_MCA_btl=self,vader,tcp OMPI_MCA_pml=ob1
exec mpirun "${flags[@]}" "$@"
