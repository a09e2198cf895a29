# What every build needs. Optional parts are in RondoOptions.cmake.

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)

function(rondo_require package debian)
  find_package(${package} QUIET)
  if(NOT ${package}_FOUND)
    message(FATAL_ERROR "Rondo needs ${package}, which was not found.\nTo install it: apt-get install ${debian}\n"
                        "All packages at once: scripts/install-packages")
  endif()
endfunction()

rondo_require(fmt libfmt-dev)
rondo_require(spdlog libspdlog-dev)
rondo_require(hwy libhwy-dev)
rondo_require(nlohmann_json nlohmann-json3-dev)

# fmt by its headers, without libfmt: src/base/fmt_library.cpp holds the one copy of its code, which stays private to
# librondo. (FMT_HEADER_ONLY would compile that code again in every file: seconds for each.)
add_library(rondo_fmt INTERFACE)
target_include_directories(rondo_fmt SYSTEM
                           INTERFACE $<TARGET_PROPERTY:fmt::fmt-header-only,INTERFACE_INCLUDE_DIRECTORIES>)

# spdlog by its headers, used by src/base/log.cpp alone.
add_library(rondo_spdlog INTERFACE)
target_include_directories(rondo_spdlog SYSTEM
                           INTERFACE $<TARGET_PROPERTY:spdlog::spdlog_header_only,INTERFACE_INCLUDE_DIRECTORIES>)
target_compile_definitions(rondo_spdlog INTERFACE SPDLOG_FMT_EXTERNAL)
target_link_libraries(rondo_spdlog INTERFACE rondo_fmt Threads::Threads)

# libsodium has no CMake package.
find_path(RONDO_SODIUM_INCLUDE sodium.h)
find_library(RONDO_SODIUM_LIBRARY sodium)
mark_as_advanced(RONDO_SODIUM_INCLUDE RONDO_SODIUM_LIBRARY)
if(NOT RONDO_SODIUM_INCLUDE OR NOT RONDO_SODIUM_LIBRARY)
  message(FATAL_ERROR "Rondo needs libsodium, which was not found.\nTo install it: apt-get install libsodium-dev\n"
                      "All packages at once: scripts/install-packages")
endif()
add_library(rondo_sodium INTERFACE)
target_include_directories(rondo_sodium SYSTEM INTERFACE ${RONDO_SODIUM_INCLUDE})
target_link_libraries(rondo_sodium INTERFACE ${RONDO_SODIUM_LIBRARY})
