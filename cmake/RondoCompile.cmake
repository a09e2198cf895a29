# How everything is compiled: warnings are errors, hidden visibility, sanitizers by RONDO_SANITIZE.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
# A new librondo.so needs no new programs.
set(CMAKE_LINK_DEPENDS_NO_SHARED ON)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release, RelWithDebInfo or Debug" FORCE)
endif()

option(RONDO_WERROR "Compiler warnings are errors" ON)
set(RONDO_SANITIZE "" CACHE STRING "Sanitizers, as in -fsanitize= (\"address,undefined\" or \"thread\")")

set(rondo_warnings -Wall -Wextra -Wpedantic -Wshadow -Wconversion)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # g++ keeps this out of -Wconversion for C++; the two compilers shall ask for the same.
  list(APPEND rondo_warnings -Wno-sign-conversion)
elseif(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # False alarms on "literal" + std::string (GCC bug 105651).
  list(APPEND rondo_warnings -Wno-restrict)
endif()
if(RONDO_WERROR)
  list(APPEND rondo_warnings -Werror)
endif()
foreach(flag IN LISTS rondo_warnings)
  add_compile_options($<$<COMPILE_LANGUAGE:C,CXX>:${flag}>)
endforeach()

if(RONDO_SANITIZE)
  add_compile_options(-fsanitize=${RONDO_SANITIZE} -fno-omit-frame-pointer -g1)
  add_link_options(-fsanitize=${RONDO_SANITIZE})
  if(RONDO_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize-recover=undefined)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # The instrumentation hides initialisations from g++: false alarms inside <regex> and std::function.
    add_compile_options(-Wno-maybe-uninitialized)
  endif()
endif()

find_program(RONDO_CCACHE ccache)
mark_as_advanced(RONDO_CCACHE)
if(RONDO_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${RONDO_CCACHE})
endif()
