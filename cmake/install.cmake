# Headers, both libraries, the program, hecate.pc and the CMake package.

include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/hecate)

install(DIRECTORY include/hecate DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING
        PATTERN "*.h")
install(TARGETS hecate_static EXPORT hecate_targets)
if(TARGET hecate)
  install(TARGETS hecate EXPORT hecate_targets)
endif()
if(TARGET hecate_program)
  install(TARGETS hecate_program)
  # The default model of `hecate translate`: src/cli/model/path.c looks for it there.
  install(DIRECTORY models/en-de DESTINATION ${CMAKE_INSTALL_DATADIR}/hecate/models OPTIONAL)
endif()
install(EXPORT hecate_targets NAMESPACE hecate:: FILE hecate-targets.cmake
        DESTINATION ${package_dir})

# For a program that links libhecate.a. A package without an archive (libsndfile on Debian) is linked shared, and
# brings its own libraries along: naming them would ask for files that may not be there.
set(HEC_PC_LIBS)
foreach(package IN LISTS HEC_PACKAGES)
  list(GET ${package}_LIBRARIES 0 name)
  find_library(HEC_ARCHIVE_${package} lib${name}.a HINTS ${${package}_LIBDIR})
  mark_as_advanced(HEC_ARCHIVE_${package})
  if(HEC_ARCHIVE_${package})
    list(APPEND HEC_PC_LIBS ${${package}_STATIC_LDFLAGS})
  else()
    list(APPEND HEC_PC_LIBS ${${package}_LDFLAGS})
  endif()
endforeach()
list(REMOVE_DUPLICATES HEC_PC_LIBS)
list(JOIN HEC_PC_LIBS " " HEC_PC_LIBS)
list(JOIN HEC_PACKAGES " " HEC_PACKAGE_NAMES)
configure_package_config_file(cmake/hecate-config.cmake.in ${PROJECT_BINARY_DIR}/hecate-config.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/hecate-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
file(RELATIVE_PATH HEC_PC_TO_PREFIX /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
configure_file(cmake/hecate.pc.in ${PROJECT_BINARY_DIR}/hecate.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/hecate-config.cmake
              ${PROJECT_BINARY_DIR}/hecate-config-version.cmake DESTINATION ${package_dir})
install(FILES ${PROJECT_BINARY_DIR}/hecate.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
