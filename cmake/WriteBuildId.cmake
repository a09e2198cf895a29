# cmake -DSOURCE_DIR=... -DTEMPLATE=... -DOUTPUT=... -DRONDO_COMPILER=... -DRONDO_BUILD_TYPE=... -P WriteBuildId.cmake
# Writes OUTPUT with the commit of SOURCE_DIR, and touches it only when its text changes.

set(RONDO_COMMIT "unknown")
find_package(Git QUIET)
if(GIT_FOUND AND EXISTS "${SOURCE_DIR}/.git")
  execute_process(
    COMMAND ${GIT_EXECUTABLE} --no-optional-locks describe --always --dirty --abbrev=12
    WORKING_DIRECTORY ${SOURCE_DIR}
    OUTPUT_VARIABLE described
    RESULT_VARIABLE status
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(status EQUAL 0 AND described)
    set(RONDO_COMMIT "${described}")
  endif()
endif()
configure_file(${TEMPLATE} ${OUTPUT} @ONLY)
