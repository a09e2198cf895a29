# Install rules: the library with its headers, find_package(rondo), rondo.pc, the tools and the perf-tests.

include(CMakePackageConfigHelpers)

install(TARGETS rondo EXPORT rondoTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/rondo DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")

set(rondo_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/rondo)
install(EXPORT rondoTargets NAMESPACE rondo:: DESTINATION ${rondo_cmake_dir})
configure_package_config_file(cmake/rondoConfig.cmake.in ${PROJECT_BINARY_DIR}/rondoConfig.cmake
                              INSTALL_DESTINATION ${rondo_cmake_dir})
# Before 1.0 a minor version may change the interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/rondoConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/rondoConfig.cmake ${PROJECT_BINARY_DIR}/rondoConfigVersion.cmake
        DESTINATION ${rondo_cmake_dir})

# rondo.pc names its directories through ${prefix} where they lie under it.
foreach(kind LIBDIR INCLUDEDIR)
  if(IS_ABSOLUTE "${CMAKE_INSTALL_${kind}}")
    set(RONDO_PC_${kind} "${CMAKE_INSTALL_${kind}}")
  else()
    set(RONDO_PC_${kind} "\${prefix}/${CMAKE_INSTALL_${kind}}")
  endif()
endforeach()
file(RELATIVE_PATH RONDO_PC_TO_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(cmake/rondo.pc.in ${PROJECT_BINARY_DIR}/rondo.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/rondo.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

configure_file(cmake/uninstall.cmake.in ${PROJECT_BINARY_DIR}/uninstall.cmake @ONLY)
add_custom_target(uninstall COMMAND ${CMAKE_COMMAND} -P ${PROJECT_BINARY_DIR}/uninstall.cmake)
