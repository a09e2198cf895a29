# Probes for the optional parts: what is on this machine, and does this version have sources for it?

find_package(PkgConfig QUIET)

# --- CUDA -----------------------------------------------------------------------------------------------------------
include(CheckLanguage)
if(NOT DEFINED RONDO_CUDA OR NOT RONDO_CUDA STREQUAL "OFF")
  if(NOT CMAKE_CUDA_COMPILER)
    find_program(RONDO_NVCC nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES bin)
    mark_as_advanced(RONDO_NVCC)
  else()
    set(RONDO_NVCC ${CMAKE_CUDA_COMPILER})
  endif()
endif()
set(rondo_cuda_detail "no CUDA compiler (nvcc)")
if(RONDO_NVCC)
  set(rondo_cuda_detail "CUDA compiler ${RONDO_NVCC}")
endif()
rondo_feature(
  NAME CUDA FOR "collectives on NVIDIA GPUs" FOUND "${RONDO_NVCC}" DETAIL "${rondo_cuda_detail}"
  INSTALL "the CUDA toolkit 12 or later from developer.nvidia.com, then put nvcc on PATH or set CUDA_HOME"
  SOURCES ${PROJECT_SOURCE_DIR}/src/device/*.cu)

# --- libibverbs -----------------------------------------------------------------------------------------------------
find_path(RONDO_VERBS_INCLUDE infiniband/verbs.h)
mark_as_advanced(RONDO_VERBS_INCLUDE)
set(rondo_verbs_detail "no infiniband/verbs.h")
if(RONDO_VERBS_INCLUDE)
  set(rondo_verbs_detail "${RONDO_VERBS_INCLUDE}/infiniband/verbs.h")
endif()
rondo_feature(
  NAME VERBS FOR "RDMA transport" FOUND "${RONDO_VERBS_INCLUDE}" DETAIL "${rondo_verbs_detail}"
  INSTALL "apt-get install libibverbs-dev" SOURCES ${PROJECT_SOURCE_DIR}/src/transport/verbs/*.cpp)

# --- MPI ------------------------------------------------------------------------------------------------------------
find_program(RONDO_MPICXX NAMES mpicxx mpic++)
mark_as_advanced(RONDO_MPICXX)
set(rondo_mpi_detail "no mpicxx")
set(rondo_mpi_found FALSE)
if(RONDO_MPICXX AND NOT RONDO_MPI STREQUAL "OFF")
  # The C interface, from C++.
  find_package(MPI QUIET COMPONENTS C)
  set(rondo_mpi_found ${MPI_C_FOUND})
  set(rondo_mpi_detail "MPI ${MPI_C_VERSION}, ${RONDO_MPICXX}")
  if(NOT MPI_C_FOUND)
    set(rondo_mpi_detail "${RONDO_MPICXX} does not compile a C program")
  endif()
endif()
rondo_feature(
  NAME MPI FOR "mpirun as launcher of the perf-tests, tests against MPI" FOUND "${rondo_mpi_found}"
  DETAIL "${rondo_mpi_detail}" INSTALL "apt-get install libopenmpi-dev openmpi-bin"
  SOURCES ${PROJECT_SOURCE_DIR}/perf-tests/mpi/mpi.cpp)
if(RONDO_HAVE_MPI)
  add_library(rondo_mpi INTERFACE)
  target_link_libraries(rondo_mpi INTERFACE MPI::MPI_C)
  # The C++ bindings that MPI 3 has dropped.
  target_compile_definitions(rondo_mpi INTERFACE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
endif()

# --- hwloc ----------------------------------------------------------------------------------------------------------
set(rondo_hwloc_detail "no hwloc")
if(PkgConfig_FOUND)
  pkg_check_modules(RONDO_HWLOC_PC QUIET IMPORTED_TARGET hwloc)
  if(RONDO_HWLOC_PC_FOUND)
    set(rondo_hwloc_detail "hwloc ${RONDO_HWLOC_PC_VERSION}")
  endif()
endif()
rondo_feature(
  NAME HWLOC FOR "topology discovery" FOUND "${RONDO_HWLOC_PC_FOUND}" DETAIL "${rondo_hwloc_detail}"
  INSTALL "apt-get install libhwloc-dev pkgconf" SOURCES ${PROJECT_SOURCE_DIR}/src/graph/*hwloc*.cpp)

# --- Python ---------------------------------------------------------------------------------------------------------
find_package(Python3 QUIET COMPONENTS Interpreter Development.Module)
set(rondo_python_found FALSE)
set(rondo_python_detail "no Python 3 with headers")
if(Python3_Development.Module_FOUND)
  set(rondo_python_found TRUE)
  set(rondo_python_detail "Python ${Python3_VERSION}")
endif()
rondo_feature(
  NAME PYTHON FOR "PyTorch process-group backend" FOUND "${rondo_python_found}" DETAIL "${rondo_python_detail}"
  INSTALL "apt-get install python3-dev" SOURCES ${PROJECT_SOURCE_DIR}/python/*.cpp)
